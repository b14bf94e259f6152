# picklock. `make help` lists the targets.
#
#   CC=clang        another compiler (gcc and clang are both kept free of warnings)
#   BUILD=DIR       another build folder
#   SANITIZE=LIST   address,undefined or thread
#   LIBFUZZER=yes   with CC=clang: fuzz targets for libFuzzer
#   UNITY=no        each file compiled for itself, also where nothing but the program is wanted
#   CFLAGS=FLAGS    instead of -O2 -g1 (-O1 -g1 where little is computed); asserts stay whatever they say. -O0 -g for a debugger
#   PREFIX=DIR      where `make install` puts everything (/usr/local), and `make uninstall` looks for it; DESTDIR=DIR is put in front

BUILD    ?= build
SANITIZE ?=
PYTHON   ?= /usr/bin/python3

# A layer includes only layers to its left (harness/test_layers.py checks).
LAYERS ?= base redis schemes history checks scenario world explore proxy toxiproxy live worker ask watch run report cmd
# And so inside explore/.
EXPLORE_LAYERS ?= model store graph reduce search result

# A help text may be longer than the 4095 bytes that every C compiler has to take.
WARN   := -Wall -Wextra -Wpedantic -Wno-overlength-strings -Wshadow -Wconversion -Wvla -Werror
CFLAGS ?= -O2 -g1
FLAGS   = -std=c17 -D_GNU_SOURCE $(WARN) $(CFLAGS) -UNDEBUG -Isim -isystem /usr/include/hiredis -MMD -MP \
          $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-omit-frame-pointer) $(UNFENCED) \
          $(if $(LIBFUZZER),-fsanitize=fuzzer-no-link -DWITH_LIBFUZZER)
# gcc's thread sanitizer does not know fences, and says so where one is: towards redis-server's process, which it does not see.
UNFENCED = $(if $(filter thread,$(SANITIZE)),$(if $(findstring clang,$(CC)),,-Wno-tsan))
LIBS    = -lhiredis -luv -lyaml -ljansson -lm -lpthread -ldl

SOURCES := $(filter-out sim/live/%_shim.c,$(wildcard $(LAYERS:%=sim/%/*.c) sim/worker/calls/*.c $(EXPLORE_LAYERS:%=sim/explore/%/*.c) \
             sim/explore/model/faults/*.c))
OBJECTS := $(SOURCES:sim/%.c=$(BUILD)/%.o)
MUTANTS := $(patsubst sim/%.c,$(BUILD)/%.o,$(wildcard sim/test/mutants/*.c))
FUZZ    := $(patsubst sim/test/%.c,%,$(wildcard sim/test/fuzz_*.c))
TESTS   := $(patsubst sim/test/%.c,%,$(wildcard sim/test/test_*.c))

.PHONY: all install uninstall deb setup setup-test demo ready test determinism bench mutations slips-in-schemes guards slips-in-checks falsealarm fuzz libfuzzer sanitised clang read check-long unit clean format format-check help $(TESTS)

all: $(BUILD)/picklock ## build the program: build/picklock

# The program alone is built on all processors, unless -j says on how many.
ifeq ($(filter-out all $(BUILD)/picklock,$(MAKECMDGOALS))$(findstring -j,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

# Half of what compiling a file takes is the compiler's own beginning. So where nothing but the program is wanted, and none of it has
# been compiled yet, up to eight files of a folder are read as one (harness/unity.awk); so they are where clang reads them, and under
# sanitizers. ALONE: what is replaced as a whole, or needs other flags; main(); and what a test wraps for its neighbours.
ALONE := schemes/schemes base/memory report/assets worker/helpers cmd/main explore/reduce/persistent_sets
ifeq ($(filter-out setup all install determinism falsealarm $(BUILD)/picklock,$(MAKECMDGOALS))$(wildcard $(BUILD)/cmd/options.o),)
UNITY ?= yes
endif
ifeq ($(UNITY),yes)
TOGETHER := $(patsubst %.c,%.o,$(sort $(shell awk -f harness/unity.awk $(BUILD)/unity $(sort $(filter-out $(ALONE:%=sim/%.c),$(SOURCES))))))
endif
LINKED := $(if $(TOGETHER),$(TOGETHER) $(ALONE:%=$(BUILD)/%.o),$(OBJECTS))
PARTS  := $(filter-out $(BUILD)/cmd/main.o,$(LINKED)) $(if $(TOGETHER),$(BUILD)/cmd/main-for-tests.o)

# A user's scheme calls the program's step interface, and sees nothing else of it.
$(BUILD)/picklock: $(LINKED) $(BUILD)/interface.list $(BUILD)/picklock-clock.so $(BUILD)/picklock-time.so
	$(CC) $(FLAGS) $(LDFLAGS) -Wl,--dynamic-list=$(BUILD)/interface.list -o $@ $(LINKED) $(LIBS)

$(BUILD)/interface.list: sim/schemes/interface.def
	@mkdir -p $(@D)
	{ echo '{'; sed -n 's/^INTERFACE(\(.*\))$$/  \1;/p' $<; echo '};'; } > $@

$(BUILD)/%.o: sim/%.c
	@mkdir -p $(@D)
	$(if $(TELL),@echo "  $<" && )$(CC) $(FLAGS) -c -o $@ $<

# Where files do not go together (test_build.py says which), each is compiled for itself: that takes longer, no more.
$(BUILD)/unity/%.o: $(BUILD)/unity/%.c
	$(if $(TELL),@sed 's|.* "\(.*\)"|  sim/\1|' $< && )$(CC) $(FLAGS) $(AS_ONE) -c -o $@ $< 2> /dev/null || harness/apart.sh $@ $< $(CC) $(FLAGS) $(AS_ONE)

# A local name may be another file's, too; what is declared twice may be two things.
AS_ONE := -Wno-shadow -Wredundant-decls

# Before the libraries are there one message says what to do, and not the compiler in each file.
$(OBJECTS) $(TOGETHER): | $(BUILD)/libraries.found
$(BUILD)/libraries.found:
	@mkdir -p $(@D)
	@printf '#include <%s>\n' stddef.h hiredis/async.h uv.h yaml.h jansson.h microhttpd.h openssl/ssl.h | \
	    $(CC) $(filter-out -MMD -MP,$(FLAGS)) -fsyntax-only -x c - 2> $@.why || { head -n 1 $@.why >&2; rm -f $@.why; \
	    echo 'Something that picklock is built with is missing. `make setup` installs it; `make demo` does so, builds, and shows it.' >&2; exit 1; }
	@mv $@.why $@

# What is done for each state, event or message is optimised more than what is done once a run: that is a fifth less to wait for.
ONCE_A_RUN := redis scenario toxiproxy worker ask watch run report cmd
ifeq ($(origin CFLAGS),file)
SELDOM := -O1 -g1
endif
ifdef SELDOM
$(filter $(ONCE_A_RUN:%=$(BUILD)/%/%) $(ONCE_A_RUN:%=$(BUILD)/unity/%/%),$(OBJECTS) $(TOGETHER)): override CFLAGS := $(SELDOM)
endif

# malloc() and memset() stay what they are, also where a compiler would make one calloc() of them (base/memory.c).
$(BUILD)/base/memory.o: FLAGS += -fno-builtin-malloc

# The report page is in the program (sim/report/assets.c).
$(BUILD)/report/assets.o: reports/page.html reports/page.css reports/page.js

# The modules for workers are in the program (sim/worker/helpers.c).
$(BUILD)/worker/helpers.o: $(wildcard sim/worker/python/*.py sim/worker/node/*.js sim/worker/ruby/*.rb)

# The clock shim is preloaded into redis-server: never sanitised, no library of ours.
$(BUILD)/picklock-clock.so: sim/live/clock_shim.c sim/live/reads_shim.c sim/live/clock.h sim/live/read_log.h sim/base/dialled.h
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE $(WARN) -O2 -Isim -fPIC -shared $(LDFLAGS) -o $@ $(filter %.c,$^)

# The time of worker processes, preloaded into them: the same.
$(BUILD)/picklock-time.so: $(wildcard sim/worker/shim/*.[ch]) sim/worker/time_page.h sim/worker/time_rules.h sim/live/clock.h sim/base/dialled.h
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE $(WARN) -O2 -Isim -fPIC -shared $(LDFLAGS) -DCLOCK_SHIM -o $@ $(filter %.c,$^) -lpthread -ldl

# Who links one file of a group has all of them, and what they call; the main() is the test's.
$(BUILD)/cmd/main-for-tests.o: $(BUILD)/cmd/main.o
	objcopy --weaken-symbol=main $< $@

$(BUILD)/parts.a: $(PARTS)
	rm -f $@
	ar rcs $@ $(PARTS)

# Most tests call much and compute little: to optimise their own code would take the compiler longer than that runs.
OWN  := -O0
BUSY := explore_walks lower_bound partial_order sleep_sets independence random random_schemes successor_cache
$(BUSY:%=$(BUILD)/test/test_%) $(BUSY:%=$(BUILD)/test/test_%.o) $(BUILD)/test/bench_checks $(BUILD)/test/bench_answers: private OWN :=

# Hundreds of programs are linked, each with the same archive: gold (of binutils) takes a third of the time, where it is there.
FAST_LINKER := $(if $(shell command -v ld.gold 2>/dev/null),-fuse-ld=gold)

$(BUILD)/test/%: sim/test/%.c $(BUILD)/parts.a | $(BUILD)/picklock-clock.so $(BUILD)/picklock-time.so
	@mkdir -p $(@D)
	$(CC) $(FLAGS) $(OWN) $(WRAP) $(FAST_LINKER) -o $@ $(filter %.c %.o,$^) $(BUILD)/parts.a $(LIBS) -lcmocka

# Tests that are one program, linked once: JOINED names them. It is that test whose name it is called by.
ifdef JOINED
$(JOINED:%=$(BUILD)/test/%.o): $(BUILD)/test/%.o: sim/test/%.c
	@mkdir -p $(@D)
	$(CC) $(FLAGS) $(OWN) -Dmain=main_$* -c -o $@ $<

$(BUILD)/test/joined.c: FORCE
	@mkdir -p $(@D)
	@harness/joined.sh $(JOINED) > $@.new; if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(BUILD)/test/joined: $(JOINED:%=$(BUILD)/test/%.o) $(BUILD)/test/joined.c $(BUILD)/parts.a | $(BUILD)/picklock-clock.so $(BUILD)/picklock-time.so
	$(CC) $(FLAGS) $(OWN) $(FAST_LINKER) -o $@ $^ $(LIBS) -lcmocka

$(JOINED:%=$(BUILD)/test/%): $(BUILD)/test/joined
	ln -f $< $@
endif

# A program for the preloaded library to steer.
$(BUILD)/worker-child: sim/test/worker_child.c sim/worker/time_page.h
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE $(WARN) -O2 -Isim -o $@ $< -lpthread
# The same without a library to preload into: its calls are answered.
$(BUILD)/worker-child-static: sim/test/worker_child.c sim/worker/time_page.h
	@mkdir -p $(@D)
	$(CC) -std=c17 -D_GNU_SOURCE $(WARN) -O2 -Isim -static -o $@ $< -lpthread
$(BUILD)/test/test_worker_time: | $(BUILD)/worker-child $(BUILD)/worker-child-static

# Schemes with planted bugs, and the same without.
$(BUILD)/test/test_mutants $(BUILD)/test/test_partial_order $(BUILD)/test/test_lower_bound: $(MUTANTS)
$(BUILD)/test/test_explore_walks: $(MUTANTS)

# libFuzzer brings a main() of its own.
$(FUZZ:%=$(BUILD)/test/%): WRAP := $(if $(LIBFUZZER),-fsanitize=fuzzer)

# A process is stopped as it begins.
$(BUILD)/test/test_carriers: WRAP := -Wl,--wrap=setsid

# The machine holds up whoever has just set a timer.
$(BUILD)/test/test_live_stress_ends: WRAP := -Wl,--wrap=uv_timer_start

# The time that what is told goes by is the test's.
$(BUILD)/test/test_heartbeat: WRAP := -Wl,--wrap=monotonic_us -Wl,--wrap=pthread_cond_timedwait

# Right schemes on a server with planted bugs: its model is reached through the test.
$(BUILD)/test/test_mutant_servers: WRAP := -Wl,--wrap=model_execute

# Sets of one action, of states that are not kept, are looked at as well.
$(BUILD)/test/test_persistent_sets: WRAP := -Wl,--wrap=persistent_sets_only

$(TESTS): %: $(BUILD)/test/%
	$<

setup: ## install what building and running need (apt), if anything is missing
	@harness/setup.sh build

setup-test: ## install what the tests need as well
	@PYTHON=$(PYTHON) harness/setup.sh build test

# The targets that a newcomer calls set everything up first, then come back here to build.
demo: ## build, run every scenario on a real redis-server and a short stress, print the table
	@harness/still.sh $(MAKE) --no-print-directory -s ready
	@harness/demo.sh $(BUILD)/picklock

ready: setup
	@$(MAKE) --no-print-directory -s -j$$(nproc) TELL=yes $(BUILD)/picklock

# Processes that the suite is spread over: two a processor of CI's two, as many tests wait more than they compute; with three they starve each other.
JOBS ?= 4

# Of the slow tests a run has its turn (harness/conftest.py): PICKLOCK_TURN=3 that one, PICKLOCK_TURN=all every one.
test: export PICKLOCK_TURN ?= drawn
test: setup-test ## build, run the tests (those in a browser only where one is installed); PICKLOCK_TURN=all every slow one, too
	@echo "Compiles the program and $(words $(TESTS)) C tests, as far as they are not there yet: minutes the first time. Then the tests run."
	@$(MAKE) --no-print-directory -s -j2 JOINED="$(filter-out $(LINKED_APART),$(TESTS))" $(BUILD)/picklock $(TESTS:%=$(BUILD)/test/%) $(FUZZ:%=$(BUILD)/test/%) \
	    $(BUILD)/test/differential $(BUILD)/test/opinion $(BUILD)/test/bench_checks
	@BUILD="$(abspath $(BUILD))" PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m pytest -n $(JOBS) --dist loadgroup -c harness/pytest.ini --rootdir harness harness

determinism: $(BUILD)/picklock ## run the same twice, with other jobs, and compare every byte but the times
	@BUILD="$(abspath $(BUILD))" harness/determinism.sh

bench: $(BUILD)/picklock $(BUILD)/test/bench_checks $(BUILD)/test/bench_answers ## what the checks, the proxy, the explorer, replays and stress cost
	-@harness/setup.sh bench
	$(BUILD)/test/bench_checks
	$(BUILD)/test/bench_answers
	BUILD="$(abspath $(BUILD))" $(PYTHON) harness/bench_proxy.py
	BUILD="$(abspath $(BUILD))" $(PYTHON) harness/bench_scale.py
	BUILD="$(abspath $(BUILD))" $(PYTHON) harness/bench_stress.py
	BUILD="$(abspath $(BUILD))" $(PYTHON) harness/bench_watch.py
	BUILD="$(BUILD)" sim/test/bench_explore.sh
	BUILD="$(abspath $(BUILD))" $(PYTHON) harness/bench_random.py
	BUILD="$(abspath $(BUILD))" $(PYTHON) harness/bench_confirm.py
	BUILD="$(abspath $(BUILD))" $(PYTHON) harness/bench_worker_search.py
	BUILD="$(abspath $(BUILD))" $(PYTHON) harness/bench_asking.py

# SAMPLE=N: N slips in checks, 4 in schemes and 4 conditions of reductions, instead of all
SAMPLE ?=
mutations: ## plant small slips in schemes and checks, remove conditions of reductions; fewer noticed than harness/mutations.txt says is a failure
	@$(MAKE) --no-print-directory -s -j2 $(BUILD)/picklock $(BUILD)/parts.a
	@$(MAKE) --no-print-directory -s -k -j2 -Otarget slips-in-checks guards slips-in-schemes

slips-in-schemes guards slips-in-checks: export PYTHONUNBUFFERED = 1
slips-in-schemes:
	@BUILD="$(abspath $(BUILD))" $(PYTHON) harness/mutations.py $(if $(SAMPLE),--sample 4)
guards:
	@BUILD="$(abspath $(BUILD))" $(PYTHON) harness/mutations_guards.py $(if $(SAMPLE),--sample 4)
slips-in-checks:
	@BUILD="$(abspath $(BUILD))" $(PYTHON) harness/mutations_checks.py --survivors $(SAMPLE:%=--sample %)

# FALSEALARM='--seconds 60 --seed 7' and the like
FALSEALARM ?= --verdicts 2000
falsealarm: $(BUILD)/picklock ## safe schemes, every fault, a machine kept busy: nobody is blamed
	@BUILD="$(abspath $(BUILD))" $(PYTHON) harness/falsealarm.py $(FALSEALARM)

# A build of its own: optimised less, or not at all, sanitised, its files read in groups. Of debugging it has what a stack trace names.
SANITISED = BUILD=$(BUILD)/sanitised SANITIZE=address,undefined CFLAGS='-O1 -g1' SELDOM='-O0 -g1' ONCE_A_RUN='$(ONCE_A_RUN) live proxy' UNITY=yes
FUZZ_INPUTS ?= 1000
FUZZ_SEED   ?= 1

fuzz: ## hostile input for every reader, a bounded run under sanitizers; FUZZ_INPUTS=N FUZZ_SEED=N
	@$(MAKE) --no-print-directory -s -j2 $(SANITISED) $(BUILD)/sanitised/picklock $(FUZZ:%=$(BUILD)/sanitised/test/%)
	@BUILD="$(BUILD)/sanitised" harness/fuzz.sh $(FUZZ_INPUTS) $(FUZZ_SEED)

LIBFUZZED = BUILD=$(BUILD)/libfuzzer CC=clang LIBFUZZER=yes SANITIZE=address,undefined CFLAGS='-O1 -g'
FUZZ_SECONDS ?= 60

libfuzzer: ## the same targets as libFuzzer's, with clang; FUZZ_SECONDS=N for each
	@$(MAKE) --no-print-directory -s -j2 $(LIBFUZZED) $(BUILD)/libfuzzer/picklock $(FUZZ:%=$(BUILD)/libfuzzer/test/%)
	@BUILD="$(BUILD)/libfuzzer" harness/fuzz.sh --libfuzzer $(FUZZ_SECONDS)

# The random walks are a fortieth of what `make test` walks, from another seed, and of the searches every 23rd is made: everything
# is five times as slow here, and each line is reached by few of them. SANITISED_RUNS=300 SANITISED_SAMPLE=1 (check-long) is all of it.
SANITISED_RUNS   ?= 4
SANITISED_SAMPLE ?= 23
# Long ones: most of it waits or begins processes, or asks and searches what others do, too: check-long has them. What reads foreign
# bytes stays, and so do the checks, the explorer's stores, and of those that ask and those that are live some short ones.
SANITISED_SKIPS  ?= $(addprefix test_,asking asking_answers asking_audit asking_clocks asking_replay asking_classes asking_ends asking_extend \
                      live live_walks live_cluster live_stress live_stress_cluster live_stress_ends live_stress_stopped live_stress_strikes \
                      live_stress_pairs live_stress_outages replays_ahead runs_ahead explore_reductions explore_sections explore_remaining \
                      successor_cache minimal_faults mutants independence lower_bound partial_order sleep_sets symmetry persistent_sets fallback)

# What is linked with more than the archive and in other ways, or has arguments.
LINKED_APART := test_mutants test_partial_order test_lower_bound test_explore_walks test_carriers test_live_stress_ends test_heartbeat test_mutant_servers test_persistent_sets test_report

# What was freed is kept back for a while: 16 MB of it, not 256, all of which would be copied whenever a process is begun.
sanitised: export ASAN_OPTIONS ?= quarantine_size_mb=16
sanitised: SANITISED_TESTS = $(filter-out $(SANITISED_SKIPS),$(TESTS))
sanitised: ## the C unit tests under address and undefined sanitizers; SANITISED_RUNS=N random walks, every SANITISED_SAMPLE=N'th search
	@$(MAKE) --no-print-directory -s -j2 $(SANITISED) JOINED="$(filter-out $(LINKED_APART),$(SANITISED_TESTS))" $(SANITISED_TESTS:%=$(BUILD)/sanitised/test/%)
	@BUILD="$(BUILD)/sanitised" PICKLOCK_RUNS=$(SANITISED_RUNS) PICKLOCK_SAMPLE=$(SANITISED_SAMPLE) PICKLOCK_SEED=20261123 harness/units.sh $(SANITISED_TESTS)

# clang warns of what it reads: nothing is made of it. Most of that is its own beginning, so it is given groups of files here, too.
clang: ## everything read by clang: no warning
	@$(MAKE) --no-print-directory -s -j2 CC=clang CFLAGS=-O0 BUILD=$(BUILD)/clang UNITY=yes read

READ := $(TOGETHER:.o=.read) $(patsubst sim/%.c,$(BUILD)/%.read,$(ALONE:%=sim/%.c) $(wildcard sim/live/*_shim.c sim/worker/shim/*.c sim/test/*.c sim/test/mutants/*.c))
read: $(READ)
# Where a group cannot be read as one, each of its files is read.
$(BUILD)/unity/%.read: $(BUILD)/unity/%.c FORCE
	$(CC) $(READING) $(AS_ONE) -fsyntax-only $< 2> /dev/null || \
	    $(CC) $(READING) -fsyntax-only $$(sed 's|.* "\(.*\)"|sim/\1|' $<)
$(BUILD)/worker/shim/%.read: READING += -DCLOCK_SHIM
$(BUILD)/%.read: sim/%.c FORCE
	$(CC) $(READING) -fsyntax-only $<
READING = $(filter-out -MMD -MP,$(FLAGS))
FORCE:

check-long: ## what CI has no time for: hours
	@BUILD="$(BUILD)" PYTHON="$(PYTHON)" harness/check_long.sh

unit: $(TESTS) ## build and run the C unit tests

PREFIX  ?= /usr/local
DESTDIR ?=

install: $(BUILD)/picklock ## install the program, its pages and scenarios: PREFIX=/usr/local DESTDIR=
	@BUILD="$(abspath $(BUILD))" harness/install.sh "$(DESTDIR)" "$(PREFIX)"

uninstall: ## remove what `make install` put there: the same PREFIX= and DESTDIR=
	@harness/uninstall.sh "$(DESTDIR)" "$(PREFIX)"

deb: ## make a Debian package, build/*.deb
	@harness/setup.sh build package
	@BUILD="$(BUILD)" harness/deb.sh

format: ## clang-format everything in sim/
	clang-format -i $$(find sim -name '*.[ch]')

format-check: ## fail where clang-format (14, of Debian 12) would change a line of sim/
	@clang-format --dry-run -Werror $$(find sim -name '*.[ch]')

clean: ## remove the build folder
	rm -rf $(BUILD)

help: ## list the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

-include $(OBJECTS:.o=.d) $(TOGETHER:.o=.d) $(wildcard $(BUILD)/test/*.d) $(MUTANTS:.o=.d)
