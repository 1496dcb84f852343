import type { Logger } from "../../http/mod.ts";
import type { Store } from "../../storage/mod.ts";
import type { Audit } from "./audit.ts";
import { createRefusalFilter } from "./refusals.ts";
import { projectTrail } from "./trail.ts";
import { userTrail } from "./user_trail.ts";
import { createAuditWriter } from "./writer.ts";

/** What a trail is made of. */
export interface AuditOptions {
  readonly store: Store;
  readonly logger: Logger;
}

/** Creates the trails of all projects over a store. */
export function createAudit({ store, logger }: AuditOptions): Audit {
  const writer = createAuditWriter({
    store,
    onLost: (count, reason) => logger.log("error", "audit_entries_lost", { count, reason }),
  });
  const isRepeated = createRefusalFilter();
  return {
    record(projectId, entry, options) {
      if (!isRepeated(projectId, entry)) writer.write(projectId, entry, options);
    },
    ofUser: (projectId, userId, page) => userTrail(store, { projectId, userId }, page),
    ofProject: (projectId, page) => projectTrail(store, projectId, page),
    idle: writer.idle,
  };
}
