/** The reference model behind the storage contract. */
import type { Batch, Commit, Read, Results, Store, Traits } from "../../lib/storage/contract.ts";
import { storageLimits } from "../../lib/storage/limits.ts";
import { validateBatch, validateReads } from "../../lib/storage/validate.ts";
import type { ReferenceModel } from "./reference.ts";

const traits: Traits = {
  durable: false,
  maxWrites: storageLimits.writesMax,
  maxValueBytes: storageLimits.valueBytesMax,
};

/** A {@linkcode Store} over a {@linkcode ReferenceModel}: for tests only, since each commit copies its partition. */
export class ReferenceStore implements Store {
  readonly traits: Traits = traits;
  readonly #model: ReferenceModel;

  constructor(model: ReferenceModel) {
    this.#model = model;
  }

  async read<const Q extends readonly Read[]>(partition: string, queries: Q): Promise<Results<Q>> {
    validateReads(partition, queries);
    return this.#model.read(partition, queries) as Results<Q>;
  }

  async commit(partition: string, batch: Batch): Promise<Commit> {
    validateBatch(partition, batch, this.traits);
    return this.#model.commit(partition, batch);
  }

  async ping(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}
}
