import { createServer } from "node:http";
import { createPlatform, MasterSecret } from "grandstand";
import { createMemoryStore } from "grandstand/memory";
import { nativeKernels } from "grandstand/native";
import { toNodeListener } from "grandstand/node";

const secret = new MasterSecret(process.env.GRANDSTAND_SECRET ?? "");
const passwordKernels = nativeKernels();
const platform = await createPlatform({ store: createMemoryStore(), secret, passwordKernels });
const server = createServer(toNodeListener(platform.fetch));
server.listen(Number(process.env.PORT ?? 8787), "127.0.0.1", () => {
  console.log("listening on", server.address());
});
