/** better-auth behind `node:http`, with its store in memory: every request asks for the session of one signed-in user. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

const [root = ""] = process.argv.slice(2);
const { betterAuth } = await import(`${root}/better-auth/dist/index.mjs`);
const { memoryAdapter } = await import(`${root}/better-auth/dist/adapters/memory-adapter/index.mjs`);
const { toNodeHandler } = await import(`${root}/better-auth/dist/integrations/node.mjs`);

const auth = betterAuth({
  secret: "a secret for a benchmark, long enough to be accepted",
  baseURL: "http://127.0.0.1",
  database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
  emailAndPassword: { enabled: true },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
});
const { headers } = await auth.api.signUpEmail({
  body: { email: "ann@club.example", password: "correct horse battery", name: "Ann" },
  returnHeaders: true,
});
const cookie = headers
  .getSetCookie()
  .map((line: string) => line.split(";", 1)[0])
  .join("; ");
const handle = toNodeHandler(auth);
const server = createServer((incoming, outgoing) => {
  // The load of all servers is one request; here it becomes better-auth's own.
  incoming.url = "/api/auth/get-session";
  incoming.headers.cookie = cookie;
  void handle(incoming, outgoing);
});
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
