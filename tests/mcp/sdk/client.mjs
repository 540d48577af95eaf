// Delegates with the official client to the server whose program is the first argument.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const client = new Client({ name: "test", version: "1" });
await client.connect(new StdioClientTransport({ command: process.argv[2] }));

const call = (name, args) => client.callTool({ name, arguments: args });
const said = (result) => result.content.map((block) => block.text ?? "").join("");
const idIn = (text) => text.match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/)[0];

const { tools } = await client.listTools();
const counter = tools.find((tool) => tool.name === "count_words");
assert.deepEqual(Object.keys(counter.inputSchema.properties).sort(), ["description", "prompt", "run_in_background"]);

// In the foreground, and one that fails.
const done = await call("count_words", { description: "count", prompt: "one two three" });
assert.ok(!done.isError && said(done).includes("\n3 words\n"), said(done));
const failed = await call("count_words", { description: "count", prompt: "fail now" });
assert.ok(failed.isError && said(failed).includes("it failed. Diagnostic: the word counter is out of order"));

// In the background: messaged, waited for, told once.
const start = async () =>
  idIn(said(await call("count_words", { description: "count", prompt: "wait for me", run_in_background: true })));
const first = await start();
assert.ok(said(await call("list_agents", {})).includes(first));
const early = await call("wait_agent", { timeout_seconds: 0 });
assert.ok(!early.isError && said(early).includes(`Still at work: ${first}`), said(early));
// Its outcome comes with the first result after it has ended, of whichever call that is.
const sent = await call("send_message", { agent_id: first, message: "four five" });
assert.ok(!sent.isError, said(sent));
let told = said(sent) + said(await call("wait_agent", { agent_ids: [first] }));
told += said(await call("list_agents", {}));
assert.equal(told.split("\n5 words\n").length, 2, told);

// Stopped; and what is malformed says what would be right.
const second = await start();
assert.ok(said(await call("interrupt_agent", { agent_id: second })).includes(`Stopped: ${second}.`));
const wrong = await call("count_words", { description: "count", prompt: 7, shell: "rm" });
assert.ok(wrong.isError && said(wrong).includes("There is no argument `shell`"), said(wrong));

// A request that is cancelled stops its child.
const stop = new AbortController();
const waits = client.callTool(
  { name: "count_words", arguments: { description: "count", prompt: "wait" } },
  undefined,
  { signal: stop.signal },
);
setTimeout(() => stop.abort(), 100);
await assert.rejects(waits);

await client.close();
console.log("all is well");
