import { describe, it } from "node:test";
import { conformance } from "../../../adapters/conformance/mod.ts";
import { redisAvailable, sharedCluster } from "../../support/redis.ts";
import { storeFactory } from "./fixture.ts";

describe("the storage contract on two clients of a Redis Cluster", { skip: redisAvailable() }, () => {
  conformance({ describe, it, factory: storeFactory(sharedCluster, { clients: 2 }) });
});
