import { describe, it } from "node:test";
import {
  blobsConformance,
  conformance,
  limiterConformance,
  queueConformance,
} from "../../../adapters/conformance/mod.ts";
import { isLongRun } from "../../support/full.ts";
import { redisAvailable, sharedRedis } from "../../support/redis.ts";
import { factories } from "./fixture.ts";

describe("the storage contracts on two Redis clients", { skip: redisAvailable() }, () => {
  const { store, limiter, queue, blobs } = factories(sharedRedis, { clients: 2 });
  conformance({ describe, it, factory: store, seeds: isLongRun ? [1, 2, 3, 4] : [2] });
  limiterConformance({ describe, it, factory: limiter });
  queueConformance({ describe, it, factory: queue });
  blobsConformance({ describe, it, factory: blobs });
});
