/** What this machine provides to commands. Modules of the store and of documents are loaded when they are needed. */

import { setTimeout } from "node:timers/promises";
import { trimmedVariables } from "../../lib/cli/frame/flags.ts";
import { type CliHost, conflict } from "../../lib/cli/mod.ts";
import { config, files } from "./files.ts";
import { terminal } from "./terminal.ts";

const storeCommands = () => import("./store_commands.ts");

let interruption: AbortController | null = null;

export const host: CliHost = {
  fetch: request => fetch(request),
  pause: (ms, signal) => setTimeout(ms, undefined, signal === undefined ? {} : { signal }),
  random: Math.random,
  uniqueId: () => crypto.randomUUID(),
  timeLimit: ms => AbortSignal.timeout(Math.ceil(ms)),
  clock: Date.now,
  variables: trimmedVariables(process.env),
  files,
  terminal,
  config,
  interruption() {
    if (interruption === null) {
      const controller = new AbortController();
      interruption = controller;
      // A second one ends the program at once.
      process.once("SIGINT", () => controller.abort(new Error("interrupted")));
    }
    return interruption.signal;
  },
  async specChecks(url, userAgent = "Grandstand-Authoring/1.0") {
    const [{ readApp }, { createOutbound }] = await Promise.all([
      import("../../lib/authoring/control/apps/read_app.ts"),
      import("../../adapters/outbound/mod.ts"),
    ]);
    const { checks } = await readApp({ publicUrl: "", outbound: createOutbound(), userAgent }, url);
    return checks;
  },
  async serve(port, handler) {
    const { serveHere } = await import("../server/serve_here.ts");
    return await serveHere(handler, { port }).catch((error: unknown) => {
      if ((error as { readonly code?: unknown }).code !== "EADDRINUSE") throw error;
      throw conflict(`Cannot use port ${port}: another program has it`, { code: "port_taken" });
    });
  },
  memoryStore: async () => (await import("../../adapters/memory/mod.ts")).createMemoryStore(),
  loyaltyFaults: async document => (await import("../services/seed_files.ts")).loyaltyFaults(document),
  playScenarios: async (...played) =>
    (await import("../../lib/fans/loyalty/views/scenario_player.ts")).playScenarios(...played),
  bootstrapOperator: async (...wanted) => await (await storeCommands()).bootstrapOperator(...wanted),
  bootstrapKey: async (...key) => await (await storeCommands()).bootstrapKey(...key),
  inKeyRing: async (...order) => await (await storeCommands()).inKeyRing(...order),
  applySeed: async (flags, path) => await (await storeCommands()).applySeedFile(flags, path),
  sealAnew: async (...sealing) => await (await storeCommands()).sealStoreAnew(...sealing),
  indexUsers: async (...indexing) => await (await storeCommands()).indexUsers(...indexing),
  rebuildBoard: async (...board) => await (await storeCommands()).rebuildBoardInStore(...board),
  migrate: async flags => await (await storeCommands()).migrate(flags),
  doctor: async (...order) => await (await storeCommands()).runDoctorInStore(...order),
  explainToken: async (...token) => await (await storeCommands()).explainTokenInStore(...token),
  backUp: async (...order) => await (await storeCommands()).backUp(...order),
  restore: async (...order) => await (await storeCommands()).restore(...order),
  decryptExport: async (...file) => await (await import("./export_file.ts")).decryptFile(...file),
};
