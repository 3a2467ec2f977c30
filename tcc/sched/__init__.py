"""Integer sets, dependences, schedule, legality and plans."""
