/**
 * The cost of the step from `node:http` to a Fetch handler: our listener beside bare `node:http`, the two maintained
 * bridges as they ship, and the shortest correct one.
 *
 * ```sh
 * npm run bench                                  # the node that runs npm
 * npm run bench -- http_bridge /path/to/other/node 10   # rounds
 * ```
 */

import { fileURLToPath } from "node:url";
import { figure } from "./figure.ts";
import { bundleForBench, canMeasure, compare, type Load, ratio, table, type Variant } from "./harness.ts";

const variants = ["bare", "grandstand", "hono", "srvx", "naive"];
const node = process.argv[2] ?? process.execPath;
const rounds = Number(process.argv[3] ?? 5);

const headers = {
  authorization: `Bearer ${"x".repeat(400)}`,
  accept: "application/json",
  "accept-encoding": "gzip",
  "x-platform-org-id": "0a000000-0000-4000-8000-000000000001",
};
const body = JSON.stringify({
  user_id: "0f0a7b0e-5c1e-4c53-9b7e-000000000001",
  action: "prediction",
  data: { outcome: "exact", home: 2, away: 1, match: "final", stage: "playoffs" },
  timestamp: 1_750_000_000,
  idempotency_key: "0f0a7b0e-5c1e-4c53-9b7e-000000000002",
});
const loads: Readonly<Record<string, Load>> = {
  GET: { path: "/boards/overall?limit=10", headers },
  POST: {
    path: "/actions",
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body,
  },
};

if (canMeasure()) {
  const server = await bundleForBench(fileURLToPath(new URL("./http_bridge_server.ts", import.meta.url)));
  const servers: Variant[] = variants.map(name => ({ name, command: [node, server, name] }));
  for (const [name, load] of Object.entries(loads)) {
    const rows = await compare(servers, load, { rounds });
    console.log(`\n${name}\n\n${table(rows)}`);
    figure(`Fetch bridge, ${name}, to bare node:http`, ratio(rows, "grandstand", "bare").toFixed(2), "0.9");
  }
} else {
  console.log("Cannot measure: this needs Linux and wrk");
}
