import { serve } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import { Hono } from "hono";
import { openPlatform } from "./platform.js";

const platform = await openPlatform({ clientAddress: { trustedProxies: ["127.0.0.1"] } });
const app = new Hono();
app.get("/hello", c => c.text("our own page"));
app.all("*", c => platform.fetch(c.req.raw, { address: getConnInfo(c).remote.address }));
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 8787), hostname: "127.0.0.1" }, address => {
  console.log("listening on", address);
});
