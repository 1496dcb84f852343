import type { Clock } from "../../../auth/mod.ts";
import type { RemoteFetch, RemoteIssuers } from "../../../auth/remote_issuers/mod.ts";
import type { Project } from "../../../directory/mod.ts";
import { AppError } from "../../../errors/mod.ts";
import { createIdTokenVerifier } from "./id_token.ts";
import { type SocialProvider, type SocialSettings, socialSettings } from "./settings.ts";
import { createTokenDebugVerifier } from "./token_debug.ts";
import type { SocialVerifier } from "./verifier.ts";

/** The verifiers of all projects. */
export interface SocialVerifiers {
  /**
   * The verifier of a provider as the project sets it up.
   *
   * @throws {AppError} `unsupported_provider`: the project does not; `internal_error`: its settings are not valid.
   */
  of(project: Project, provider: SocialProvider): SocialVerifier;
}

/** What verifiers need. */
export interface SocialVerifiersOptions {
  readonly issuers: RemoteIssuers;
  readonly fetch: RemoteFetch;
  readonly clock: Clock;
}

/** Creates the verifiers. Each knows by itself which providers fail: create one per process. */
export function createSocialVerifiers(options: SocialVerifiersOptions): SocialVerifiers {
  const verifiers = new WeakMap<SocialSettings, SocialVerifier>();
  function create(settings: SocialSettings): SocialVerifier {
    return settings.style === "idToken"
      ? createIdTokenVerifier(settings, options.issuers)
      : createTokenDebugVerifier(settings, options);
  }
  return {
    of(project, provider) {
      const settings = socialSettings(project.settings, provider);
      if (settings === undefined) {
        throw new AppError(
          "unsupported_provider",
          "Cannot check the user as the project has no such provider",
        );
      }
      const verifier = verifiers.get(settings) ?? create(settings);
      verifiers.set(settings, verifier);
      return verifier;
    },
  };
}
