import type { Clock } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { Call } from "../../http/mod.ts";
import type { Audit, AuditEntry, AuditFacts } from "./audit.ts";
import type { ClientTagger } from "./tags.ts";

/** What recording an attempt needs. */
export interface AuditedContext {
  readonly clock: Clock;
  readonly audit: Audit;
  readonly tagClient: ClientTagger;
}

/** What is known of an attempt before it is made. */
export interface Attempt extends Pick<AuditEntry, "event" | "provider" | "actor"> {
  readonly projectId: string;
  readonly call: Pick<Call<unknown, unknown, unknown, unknown>, "request" | "info" | "requestId">;
  /** Whether only failures are recorded, because success changes nothing and is most of the traffic. @default false */
  readonly isLookup?: boolean;
  /** Whether success is told on the trail of the project alone, not on the user's. @default false */
  readonly isOfProjectAlone?: boolean;
}

/** Makes an attempt and puts what came of it on the trail, with what it noted about whom it worked for. */
export async function audited<T>(
  { clock, audit, tagClient }: AuditedContext,
  attempt: Attempt,
  act: (note: (facts: AuditFacts) => void) => Promise<T>,
): Promise<T> {
  const { projectId, event, provider, actor, call, isLookup = false, isOfProjectAlone = false } = attempt;
  const { request, info, requestId } = call;
  let facts: AuditFacts = {};
  function record(outcome: AuditEntry["outcome"]): void {
    const named = actor === undefined ? {} : { actor };
    const entry = { at: clock(), event, outcome, provider, ...named, ...facts, ...tagClient(request, info) };
    audit.record(
      projectId,
      { ...entry, requestId },
      { isOfProjectAlone: isOfProjectAlone && outcome === "ok" },
    );
    info.waitUntil?.(audit.idle());
  }
  try {
    const result = await act(given => {
      facts = { ...facts, ...given };
    });
    if (!isLookup) record("ok");
    return result;
  } catch (error) {
    record(error instanceof AppError ? error.code : "internal_error");
    throw error;
  }
}
