import fastify from "fastify";
import { toNodeListener } from "grandstand/node";
import { openPlatform } from "./platform.js";

const platform = await openPlatform({ clientAddress: { trustedProxies: ["127.0.0.1"] } });
const listener = toNodeListener(platform.fetch);
const app = fastify();
app.get("/hello", () => "our own page");
app.register(async scope => {
  // The platform reads bodies itself, within bounds of its own.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _body, done) => done(null));
  scope.all("/*", (request, reply) => {
    reply.hijack();
    listener(request.raw, reply.raw);
  });
});
await app.listen({ port: Number(process.env.PORT ?? 8787), host: "127.0.0.1" });
console.log("listening on", app.server.address());
