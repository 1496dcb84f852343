import { describe, it } from "node:test";
import {
  blobsConformance,
  conformance,
  limiterConformance,
  queueConformance,
} from "../../../adapters/conformance/mod.ts";
import { sampleSize } from "../../support/full.ts";
import { postgresAvailable } from "../../support/postgres.ts";
import { factories } from "./fixture.ts";

describe("the storage contracts on two PostgreSQL clients", { skip: postgresAvailable() }, () => {
  const { store, limiter, queue, blobs } = factories();
  // A step is a round trip to the server: one random run, and all in a long run.
  conformance({
    describe,
    it,
    factory: store,
    seeds: Array.from({ length: sampleSize(4, 1) }, (_, index) => index + 1),
  });
  limiterConformance({ describe, it, factory: limiter });
  queueConformance({ describe, it, factory: queue });
  blobsConformance({ describe, it, factory: blobs });
});
