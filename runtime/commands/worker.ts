import type { Logger } from "../../lib/http/mod.ts";
import { createPlatform, publicUrlDefault, version } from "../../lib/mod.ts";
import { baseUrlOf, type Config } from "../config.ts";
import { openMail } from "../services/mail.ts";
import { openMetrics, serveMetrics } from "../services/metrics.ts";
import { closeStorage, openStorage, tryFolderOfFiles } from "../services/storage.ts";
import { platformOptions, type Running, startWorkers } from "./serve.ts";

/** Starts a worker: it applies queued actions and does due work for the servers on the same Redis, without serving requests. */
export async function runWorker(config: Config, { logger }: { readonly logger: Logger }): Promise<Running> {
  if (config.redis === undefined) {
    throw new Error(
      "GRANDSTAND_REDIS must name the Redis of the servers, as memory is not shared between processes.",
    );
  }
  const storage = await openStorage(config, logger);
  const mail = await openMail(config, { demo: false, logger });
  const metrics = openMetrics(config);
  const services = { storage, logger, metrics, geo: null, mail, ids: null };
  try {
    await tryFolderOfFiles(config, storage);
    const baseUrl = baseUrlOf(config, publicUrlDefault);
    const platform = await createPlatform(
      await platformOptions({ ...config, exports: "inline" }, { ...services, baseUrl }),
    );
    const metricsServer = await serveMetrics(config, metrics, { platform, logger });
    const workers = startWorkers(platform, { ...config, workers: "inline" }, services);
    return {
      announcement: `Grandstand ${version} works on queued actions (${storage.description})`,
      async stop() {
        await Promise.all(workers.map(worker => worker.stop()));
        await platform.close();
        await metricsServer?.stop();
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
