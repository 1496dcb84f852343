import type { Logger } from "../lib/http/mod.ts";
import { createPlatform, publicUrlDefault, version } from "../lib/mod.ts";
import { openMail } from "./_mail.ts";
import { platformOptions, type Running, startWorkers } from "./_serve_command.ts";
import { closeStorage, openStorage } from "./_stores.ts";
import type { Config } from "./config.ts";

/** Applies queued actions and does what is due, without answering requests, beside servers on the same Redis. */
export async function runWorker(config: Config, { logger }: { readonly logger: Logger }): Promise<Running> {
  if (config.redis === undefined) {
    throw new Error(
      "GRANDSTAND_REDIS must name the Redis of the servers: what is in memory is in their processes.",
    );
  }
  const storage = await openStorage(config, logger);
  const mail = await openMail(config, { demo: false, logger });
  const surroundings = { storage, logger, geo: null, mail, ids: null };
  try {
    const baseUrl = config.publicUrl ?? publicUrlDefault;
    const platform = await createPlatform(await platformOptions(config, { ...surroundings, baseUrl }));
    const workers = startWorkers(platform, { ...config, workers: "inline" }, logger);
    return {
      announcement: `Grandstand ${version} works on queued actions (${storage.description})`,
      async stop() {
        await Promise.all(workers.map(worker => worker.stop()));
        await platform.close();
        await mail.close();
        await closeStorage(storage);
        return true;
      },
    };
  } catch (error) {
    await mail.close();
    await closeStorage(storage);
    throw error;
  }
}
