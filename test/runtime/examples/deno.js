import { openPlatform } from "./platform.js";

const platform = await openPlatform({ clientAddress: { trustedProxies: ["127.0.0.1"] } });
Deno.serve(
  {
    port: Number(Deno.env.get("PORT") ?? 8787),
    hostname: "127.0.0.1",
    onListen: address => console.log("listening on", address),
  },
  (request, { remoteAddr }) => platform.fetch(request, { address: remoteAddr.hostname }),
);
