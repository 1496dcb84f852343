import express from "express";
import { toNodeListener } from "grandstand/node";
import { openPlatform } from "./platform.js";

const platform = await openPlatform({ clientAddress: { trustedProxies: ["127.0.0.1"] } });
const app = express();
app.get("/hello", (_request, response) => response.send("our own page"));
app.use(toNodeListener(platform.fetch));
const server = app.listen(Number(process.env.PORT ?? 8787), "127.0.0.1", () => {
  console.log("listening on", server.address());
});
