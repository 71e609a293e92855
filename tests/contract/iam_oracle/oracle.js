// An evaluator of IAM policies that this project did not write: one JSON simulation a line in, one verdict a line out.
// @cloud-copilot/iam-simulate is AGPL-3.0-or-later: a development tool in its own process, never shipped.
const { runSimulation } = require("@cloud-copilot/iam-simulate");
const lines = require("node:readline").createInterface({ input: process.stdin });

(async () => {
  for await (const line of lines) {
    const answer = await runSimulation(JSON.parse(line), {});
    const single = answer.result ?? answer;
    console.log(JSON.stringify({
      verdict: answer.overallResult ?? null,
      errors: answer.errors ?? null,
      ignored: single.ignoredContextKeys ?? [],
    }));
  }
})();
