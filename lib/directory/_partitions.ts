import { type Partition, platformPartition, tenantPartition } from "../storage/mod.ts";

/** Where an organisation, space or project keeps its directory records. */
export function directoryPartition(kind: "organisation" | "space" | "project", id: string): Partition {
  switch (kind) {
    case "organisation":
      return tenantPartition({ organisation: id }, "directory");
    case "space":
      return tenantPartition({ space: id }, "directory");
    case "project":
      return tenantPartition({ project: id }, "directory");
  }
}

/** Where the claim of a space on a domain is kept. */
export function domainPartition(domain: string): Partition {
  return platformPartition("domain", domain);
}
