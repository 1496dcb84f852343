import { describe, it } from "node:test";
import { conformance } from "../../../adapters/conformance/mod.ts";
import { redisAvailable, sharedRedis } from "../../support/redis.ts";
import { storeFactory } from "./fixture.ts";

describe("the storage contract on two Redis clients", { skip: redisAvailable() }, () => {
  conformance({ describe, it, factory: storeFactory(sharedRedis, { clients: 2 }) });
});
