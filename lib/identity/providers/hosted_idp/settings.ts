import type * as v from "valibot";
import type { RemoteIssuer } from "../../../auth/remote_issuers/mod.ts";
import type { Project, Space } from "../../../directory/mod.ts";
import { AppError } from "../../../errors/mod.ts";
import { UuidSchema } from "../../operations.ts";
import { RemoteIssuerSchema, settingsReader } from "../remote_settings.ts";

const ofProject = settingsReader(RemoteIssuerSchema, ["identity", "hostedIdp"]);
const ofSpace = settingsReader(RemoteIssuerSchema, ["issuer"]);
const defaultProjectOf = settingsReader(UuidSchema as v.GenericSchema<unknown, string>, ["defaultProjectId"]);

/**
 * The identity provider that vouches for users of a project: `settings.identity.hostedIdp`.
 *
 * @throws {AppError} `unsupported_provider`: the project has none; `internal_error`: the section is not valid.
 */
export function hostedIssuer({ settings }: Project): RemoteIssuer {
  const issuer = ofProject(settings);
  if (issuer !== undefined) return issuer;
  throw new AppError(
    "unsupported_provider",
    "Cannot serve the request as the project has no hosted provider",
  );
}

/**
 * The issuer whose ID tokens a space accepts, `settings.issuer`, and the project whose users they are of,
 * `settings.defaultProjectId`.
 *
 * @throws {AppError} `invalid_credentials`: the space accepts none; `internal_error`: its settings are not valid.
 */
export function spaceIssuer({ settings }: Space): {
  readonly issuer: RemoteIssuer;
  readonly projectId: string;
} {
  const issuer = ofSpace(settings);
  const projectId = defaultProjectOf(settings);
  if (issuer !== undefined && projectId !== undefined) return { issuer, projectId };
  throw new AppError("invalid_credentials", "Cannot accept an ID token as the space names no issuer of them");
}
