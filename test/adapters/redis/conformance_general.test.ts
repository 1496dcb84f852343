import { describe, it } from "node:test";
import { conformance } from "../../../adapters/conformance/mod.ts";
import { isLongRun } from "../../support/full.ts";
import { redisAvailable, sharedRedis } from "../../support/redis.ts";
import { factories } from "./fixture.ts";

describe("the storage contract on Redis without scripts made to measure", { skip: redisAvailable() }, () => {
  const { store } = factories(sharedRedis, { clients: 1, scripts: { shapes: 0 } });
  conformance({ describe, it, factory: store, seeds: isLongRun ? [1, 2, 3, 4] : [4] });
});
