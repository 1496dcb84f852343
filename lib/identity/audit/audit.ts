import { keyedTag } from "../../auth/crypto/mod.ts";
import { deriveKey, type MasterSecret, networkTag } from "../../auth/mod.ts";
import type { ClientInfo, Logger } from "../../http/mod.ts";
import type { Store } from "../../storage/mod.ts";
import type { AuditEntry, AuditPage, AuditPageOptions } from "./entries.ts";
import { readProjectTrail } from "./project_trail.ts";
import { readUserTrail } from "./user_trail.ts";
import { AuditWriter } from "./writer.ts";

const networkBits = { ipv4: 24, ipv6: 64 } as const;
/** 72 bits. */
const userAgentTagCharacters = 12;

/** Options of {@linkcode Audit}. */
export interface AuditOptions {
  readonly store: Store;
  /** Keys the tags of user agents. */
  readonly secret: MasterSecret;
  readonly logger: Logger;
}

/** Records attempts and reads them back. */
export class Audit {
  readonly #store: Store;
  readonly #writer: AuditWriter;
  readonly #tagKey: Uint8Array;

  constructor({ store, secret, logger }: AuditOptions) {
    this.#store = store;
    this.#tagKey = deriveKey(secret, "user_agent_tag");
    this.#writer = new AuditWriter(store, (count, reason) =>
      logger.log("error", "audit_entries_lost", { count, reason }),
    );
  }

  /**
   * Records an entry in the background, without ever failing or delaying a request. It goes to the trail of the project,
   * and to that of its user unless `isProjectOnly`. Refusals of limits are recorded once a minute.
   */
  record(
    projectId: string,
    entry: AuditEntry,
    { isProjectOnly = false }: { readonly isProjectOnly?: boolean } = {},
  ): void {
    this.#writer.write(projectId, entry, isProjectOnly);
  }

  /** Makes the tags of the client of a request. Equal user agents have equal tags in all projects. */
  tagsOf(request: Request, { address }: ClientInfo): Pick<AuditEntry, "addressTag" | "userAgentTag"> {
    const addressTag = address === undefined ? undefined : networkTag(address, networkBits);
    const userAgent = request.headers.get("user-agent");
    return {
      ...(addressTag === undefined ? {} : { addressTag }),
      ...(userAgent === null
        ? {}
        : { userAgentTag: keyedTag(this.#tagKey, [userAgent]).slice(0, userAgentTagCharacters) }),
    };
  }

  /** Reads the trail of one user. */
  ofUser(projectId: string, userId: string, page?: AuditPageOptions): Promise<AuditPage> {
    return readUserTrail(this.#store, { projectId, userId }, page);
  }

  /** Reads the trail of a project. */
  ofProject(projectId: string, page?: AuditPageOptions): Promise<AuditPage> {
    return readProjectTrail(this.#store, projectId, page);
  }

  /** Resolves when everything recorded so far is stored or dropped. */
  idle(): Promise<void> {
    return this.#writer.idle();
  }
}
