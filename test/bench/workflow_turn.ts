/**
 * The cost of a turn of a dialogue: a press with an input, whose view was never used, beside a bare server of `node:http` that reads
 * the request and answers the same bytes, and a handler behind the Fetch bridge that does the same. In memory; the caller was verified
 * before.
 *
 * ```sh
 * npm run bench -- workflow_turn [rounds]
 * ```
 */

import { fileURLToPath } from "node:url";
import { figure } from "./figure.ts";
import { bundleForBench, canMeasure, compare, ratio, table } from "./harness.ts";

const rounds = Number(process.argv[2] ?? 5);

/** Sends first requests until it has payloads, and then presses with each payload once. */
const presses = `
local context = '{"context":{"baseURL":"https://studio.example","eventId":"e"}'
local payloads = {}
function request()
  local payload = table.remove(payloads)
  if payload == nil then return wrk.format(nil, nil, nil, context .. '}') end
  return wrk.format(nil, nil, nil, context .. ',"action":"go","inputs":{"name":"Ada"},"payload":{"_s":"' .. payload .. '"}}')
end
function response(status, headers, body)
  local payload = body:match('"_s":"([^"]+)"')
  if payload then payloads[#payloads + 1] = payload end
end`;

if (canMeasure()) {
  const server = await bundleForBench(fileURLToPath(new URL("./workflow_turn_server.ts", import.meta.url)));
  const servers = ["bare", "bridge", "workflow"].map(name => ({
    name,
    command: [process.execPath, server, name] as const,
  }));
  const headers = { "content-type": "application/json", authorization: "Bearer t" };
  const rows = await compare(servers, { path: "/", method: "POST", headers, lua: presses }, { rounds });
  console.log(`\nA turn of a workflow\n\n${table(rows)}`);
  figure(
    "a turn of a workflow in memory, to bare node:http",
    ratio(rows, "workflow", "bare").toFixed(2),
    "0.25",
  );
} else {
  console.log("Cannot measure: this needs Linux and wrk");
}
