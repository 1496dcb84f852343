import type { Clock } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { Call } from "../../http/mod.ts";
import type { Audit } from "./audit.ts";
import type { AuditEntry, AuditFacts } from "./entries.ts";

/** Services of {@linkcode recordAttempt}. */
export interface AuditServices {
  readonly clock: Clock;
  readonly audit: Audit;
}

/** An attempt before its outcome. */
export interface AuditedAttempt extends Pick<AuditEntry, "event" | "provider" | "actor"> {
  readonly projectId: string;
  readonly call: Pick<Call<unknown, unknown, unknown, unknown>, "request" | "info" | "requestId">;
  /** Records failures only, as success changes nothing and is most of the traffic. @default false */
  readonly isLookup?: boolean;
  /** Records success on the trail of the project only, not on the user's. @default false */
  readonly isProjectOnly?: boolean;
}

/** Makes an attempt and records its outcome, with the facts that it noted about its subject. */
export async function recordAttempt<T>(
  { clock, audit }: AuditServices,
  attempt: AuditedAttempt,
  act: (note: (facts: AuditFacts) => void) => Promise<T>,
): Promise<T> {
  const { projectId, event, provider, actor, call, isLookup = false, isProjectOnly = false } = attempt;
  const { request, info, requestId } = call;
  let facts: AuditFacts = {};
  function record(outcome: AuditEntry["outcome"]): void {
    const by = actor === undefined ? {} : { actor };
    const tags = audit.tagsOf(request, info);
    const entry = { at: clock(), event, outcome, provider, ...by, ...facts, ...tags, requestId };
    audit.record(projectId, entry, { isProjectOnly: isProjectOnly && outcome === "ok" });
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
