import { openPlatform } from "./platform.js";

const platform = await openPlatform({ clientAddress: { trustedProxies: ["127.0.0.1"] } });
const server = Bun.serve({
  port: Number(process.env.PORT ?? 8787),
  hostname: "127.0.0.1",
  idleTimeout: 65,
  routes: { "/hello": new Response("our own page") },
  fetch: (request, peers) => platform.fetch(request, { address: peers.requestIP(request)?.address }),
});
console.log("listening on", { port: server.port });
