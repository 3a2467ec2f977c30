# Rules of GNU make for kernels that tcc compiles. In a Makefile:
#
#     include $(shell tcc --make-include)
#
# Then NAME.cu and NAME.h, NAME.ptx, or NAME.test.cu, a program that tests NAME.cu on a GPU, are made
# from NAME.tc, with the options file NAME.yaml where there is one. They are made again when one of these files changes, comes or goes, and when the
# options on the command line change. Variables, to be set before the include:
#
#     TCC             the command, by default `tcc`
#     TCCFLAGS        options of `tcc compile` for every kernel:   --arch sm_80
#     TCCFLAGS_NAME   the same for NAME.tc, after those:           --size M=1024 --options fast.yaml
#     TCC_OUT         a folder for the outputs, with its slash:    build/

TCC ?= tcc

# For make's own eyes: the command without its outputs, and where the last one is kept.
tcc_options = $(if $(wildcard $*.yaml),--options $*.yaml) $(TCCFLAGS) $(TCCFLAGS_$(notdir $*))
tcc_command = $(strip $(TCC) compile $*.tc $(tcc_options))
tcc_record = $(TCC_OUT).tcc/$(subst /,-,$(subst -,--,$*)).$(1)
tcc_changed = $(if $(call tcc_same,$(tcc_command),$(shell cat $(tcc_record).args 2>/dev/null)),,.tcc-again)
tcc_same = $(and $(findstring x$(1)x,x$(2)x),$(findstring x$(2)x,x$(1)x))

define tcc_compile
@mkdir -p $(TCC_OUT).tcc $(@D)
$(tcc_command) $(2) --depfile $(tcc_record).d
@printf '%s\n' '$(subst ','\'',$(tcc_command))' > $(tcc_record).args
endef

.SECONDEXPANSION:

$(TCC_OUT)%.cu $(TCC_OUT)%.h: %.tc $$(wildcard $$*.yaml) $$(call tcc_changed,cu)
	$(call tcc_compile,cu,-o $(TCC_OUT)$*.cu --header $(TCC_OUT)$*.h)

$(TCC_OUT)%.ptx: %.tc $$(wildcard $$*.yaml) $$(call tcc_changed,ptx)
	$(call tcc_compile,ptx,--ptx $@)

$(TCC_OUT)%.test.cu: %.tc $$(wildcard $$*.yaml) $$(call tcc_changed,test)
	$(call tcc_compile,test,--self-test $@)

# No file has this name: what depends on it is made again.
.PHONY: .tcc-again
.tcc-again:

# A compilation writes whole files or none, so none has to be deleted when it ends early; nor are
# they thrown away as steps on the way to an object file.
.PRECIOUS: $(TCC_OUT)%.cu $(TCC_OUT)%.h $(TCC_OUT)%.ptx $(TCC_OUT)%.test.cu

# Options files with other names, as the compiler saw them.
-include $(wildcard $(TCC_OUT).tcc/*.d)
