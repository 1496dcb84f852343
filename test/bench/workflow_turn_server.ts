/** A server of one workflow, or a bare one that answers as many bytes. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { silentLogger } from "../../lib/http/mod.ts";
import { input, text, textInput, workflow } from "../../lib/workflow/mod.ts";
import { serveHere } from "../../runtime/server/serve_here.ts";

const role = {
  type: "scope_roles",
  id: "e",
  attributes: { role: "creator" },
  meta: { parents: [{ type: "organisations", id: "o" }] },
};
const me = { data: { id: "u", attributes: { name: "Mia", email: "mia@example.com" } } };

const wf = workflow<{ name?: string }>({
  name: "bench",
  secret: "a secret for benchmarks, which is long enough",
  store: createMemoryStore(),
  control: "https://studio.example",
  endpoint: "https://backend.example",
  require: { scope: ["event"], role: "creator" },
  logger: silentLogger,
  fetch: async url => Response.json(url.endsWith("/me") ? me : { included: [role] }),
})
  .start(c => c.view(text`Hello ${c.user.name}`, input.text("name", "Name")).button("go", "Go"))
  .on("go", { inputs: { name: textInput() } }, (c, { name }) =>
    c.setState({ name }).view(text`Hello ${name}`, input.text("name", "Name")).button("go", "Go"),
  );

async function sampleAnswer(): Promise<string> {
  const body = JSON.stringify({ context: { baseURL: "https://studio.example", eventId: "e" } });
  const sent = { "content-type": "application/json", authorization: "Bearer t" };
  return await (
    await wf.fetch(new Request("http://backend.example/", { method: "POST", headers: sent, body }))
  ).text();
}

const headers = { "content-type": "application/json", "cache-control": "no-store" };

async function bare(): Promise<string> {
  const answered = await sampleAnswer();
  const length = String(Buffer.byteLength(answered));
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      Buffer.concat(chunks).toString();
      outgoing.writeHead(200, { ...headers, "content-length": length });
      outgoing.end(answered);
    });
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function bridge(): Promise<string> {
  const answered = await sampleAnswer();
  const handler = async (request: Request): Promise<Response> => {
    await request.text();
    return new Response(answered, { headers });
  };
  return (await serveHere(handler, { port: 0, onError: console.error })).url;
}

async function served(): Promise<string> {
  return (await serveHere(wf.fetch, { port: 0, onError: console.error })).url;
}

const variants: Readonly<Record<string, () => Promise<string>>> = { bare, bridge, workflow: served };
console.log(await variants[process.argv[2] ?? ""]?.());
