import { serve } from "@hono/node-server";
import { getConnInfo } from "@hono/node-server/conninfo";
import { createPlatform, MasterSecret } from "grandstand";
import { createMemoryStore } from "grandstand/memory";
import { nativeKernels } from "grandstand/native";
import { Hono } from "hono";

// A random secret is enough for a store in memory. With any other, set one and keep it.
const secret = new MasterSecret(process.env.GRANDSTAND_SECRET ?? crypto.randomUUID());
const passwordKernels = nativeKernels();
const platform = await createPlatform({ store: createMemoryStore(), secret, passwordKernels });
const app = new Hono();
app.get("/", c => c.text("our own page"));
app.all("*", c => platform.fetch(c.req.raw, { address: getConnInfo(c).remote.address }));
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 8787), hostname: "127.0.0.1" }, address => {
  console.log("listening on", address);
});
