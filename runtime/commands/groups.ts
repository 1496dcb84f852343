import type { CommandGroup } from "../../lib/cli/mod.ts";

const serverCommands = () => import("./server_commands.ts");

export const serverGroups: readonly CommandGroup[] = [
  { word: "serve", isOurs: true, load: async () => (await serverCommands()).serveCommands },
  { word: "worker", isOurs: true, load: async () => (await serverCommands()).workerCommands },
];
