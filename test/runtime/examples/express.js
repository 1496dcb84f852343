import express from "express";
import { toNodeListener } from "grandstand/node";
import { fanTokens } from "./accounts.js";
import { openPlatform } from "./platform.js";
import { openStore } from "./store.js";

const platform = await openPlatform({
  store: await openStore(process.env.DATABASE_URL),
  clientAddress: { trustedProxies: ["127.0.0.1"] },
  identity: { accountIssuer: "https://accounts.club.example" },
});
const tokenOf = await fanTokens(platform, process.env);
setInterval(() => platform.work().catch(console.error), 5_000).unref();

const app = express();
app.get("/hello", (_request, response) => response.send("our own page"));
app.post("/fan-token", async (request, response) => {
  // In place of this field: the session of your own accounts.
  const id = request.get("x-account");
  if (id === undefined) return response.sendStatus(401);
  response.json(await tokenOf({ id, name: `Fan ${id}` }));
});
app.use(toNodeListener(platform.fetch));
const server = app.listen(Number(process.env.PORT ?? 8787), "127.0.0.1", () => {
  console.log("listening on", server.address());
});
