// Starts `tcc lsp` for .tc files; colours come from the grammar and need no server.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const [command, ...args] = vscode.workspace.getConfiguration("tcc").get("command");
  client = new LanguageClient(
    "tcc",
    "Tensor Comprehensions",
    { command, args },
    { documentSelector: [{ language: "tc" }] },
  );
  return client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
