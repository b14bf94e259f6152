"""A Node.js worker collects its garbage as it would where no time is steered: seconds that pass between two resets are no idleness."""

from workers import needs_node

# Writes down, behind garbage of each reset, how much the young generation has.
YOUNG = """
const fs = require('node:fs'), v8 = require('node:v8');
const { run } = require('picklock-worker');
let last;

function litter() {
  for (let i = 0; i < 60000; i++) last = { i, row: [i, i + 1, i + 2], text: String(i) };
}

run({
  promises: ['expiry'],
  async init() {
    litter();
    await new Promise((resolve) => setTimeout(resolve, 3000));
    litter();
    const young = v8.getHeapSpaceStatistics().find((space) => space.space_name === 'new_space');
    fs.appendFileSync(%r, `${young.space_size}\\n`);
  },
  acquire: async () => false,
  release: async () => true,
});
"""
SMALLEST = 1 << 20  # one of its halves, as V8 begins


@needs_node
def test_what_is_collected_is_not_given_back_each_time(picklock, tmp_path):
    path, young = tmp_path / "worker.js", tmp_path / "young"
    path.write_text(YOUNG % str(young))
    ran = picklock("explore", "--worker", f"node {path}", "--clients", "1", "--fault", "none", "--no-cache", "--fail-on", "never", timeout=300)
    sizes = [int(line) for line in young.read_text().splitlines()]
    assert len(sizes) > 10 and min(sizes[5:]) > 2 * SMALLEST, (sizes, ran)
