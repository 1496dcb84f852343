import { type Parameters, parseQuery } from "./requests/query.ts";
import type { Parsed } from "./routing/hot_targets.ts";
import type { ClientInfo, GuardInput } from "./routing/route.ts";
import type { Target } from "./routing/target.ts";

/** One request on its way to its answer. */
export interface Exchange {
  readonly request: Request;
  readonly info: ClientInfo;
  readonly requestId: string;
  readonly target: Target;
  /** The parameters, once they have been checked. */
  parsed: Parsed | null;
  /** Fields that the answer will carry whatever it is; replaced, never changed in place. */
  extra: Readonly<Record<string, string>> | null;
}

/** What a guard sees. The query is parsed when a guard first asks for it. */
export class Credentials implements GuardInput {
  readonly request: Request;
  readonly info: ClientInfo;
  readonly params: Parameters;
  readonly #query: string;

  constructor(exchange: Exchange, params: Parameters) {
    this.request = exchange.request;
    this.info = exchange.info;
    this.params = params;
    this.#query = exchange.target.query;
  }

  /** @throws `validation_failed` for a malformed query. */
  get query(): Parameters {
    return parseQuery(this.#query);
  }
}
