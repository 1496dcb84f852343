/**
 * What a platform is made of.
 *
 * @module
 */

import type { Clock, MasterSecret, RandomBytes, SignatureAlgorithm } from "../auth/mod.ts";
import type { PasswordAlgorithm, PasswordKernels, PasswordPolicy } from "../auth/passwords/mod.ts";
import type { RemoteFetchOptions } from "../auth/remote_issuers/mod.ts";
import type { ExportOptions } from "../exports/mod.ts";
import type { Area, HandlerOptions, Logger } from "../http/mod.ts";
import type { RateLimits } from "../http/rate_limit/policies.ts";
import type { AbuseLimits, Merge } from "../identity/mod.ts";
import type { GeoReader } from "../location/geo_reader.ts";
import type { Mailer } from "../outbound/mailer.ts";
import type { WebhookSender } from "../outbound/webhook_sender.ts";
import type { Blobs, Queue, Store } from "../storage/mod.ts";

/** What a platform is made of. Only `store` and `secret` have no default. */
export interface PlatformOptions {
  readonly store: Store;
  /**
   * Where actions wait that back ends have reported, for `startActionWorker` to apply. Omitted: they take effect before their
   * request is answered.
   */
  readonly queue?: Queue;
  /** Where exported files are kept, the same place for every process of a deployment. Omitted: exports are refused. */
  readonly blobs?: Blobs;
  /** What signs, seals and hashes; the same for every process of a deployment. */
  readonly secret: MasterSecret;
  /** Unix ms. @default Date.now */
  readonly clock?: Clock;
  /** @default crypto.getRandomValues */
  readonly random?: RandomBytes;
  /** Address under which clients reach the platform, without a slash at its end. @default {@linkcode publicUrlDefault} */
  readonly publicUrl?: string;
  /** The space of requests whose Host no space claims. Omitted: such requests find no space. */
  readonly defaultSpaceId?: string;
  /** Signs new tokens. @default "EdDSA" */
  readonly signatureAlgorithm?: SignatureAlgorithm;
  /** Finds the countries of clients. Omitted: every location is unknown. */
  readonly geo?: GeoReader;
  /**
   * Native functions of the runtime that hash passwords: `nativeKernels()` of `grandstand/native`. Omitted: portable ones
   * take their place, which are slower and share the event loop with requests.
   */
  readonly passwordKernels?: PasswordKernels;
  /** Tells the webhooks of loyalty configurations what happened: `createWebhookSender()`. Omitted: they are told nothing. */
  readonly webhooks?: WebhookSender;
  /** Sends mail to users. Omitted: mail is dropped, and the log says so. */
  readonly mailer?: Mailer;
  /** @default silentLogger */
  readonly logger?: Logger;
  /** @default {} */
  readonly identity?: IdentityOptions;
  /** How the handlers of the platform answer: CORS, limits, metrics. @default {} */
  readonly http?: Omit<
    HandlerOptions,
    "ready" | "logger" | "publicUrl" | "version" | "failureLimit" | "idempotency"
  >;
  /**
   * Which policies limit requests to the audience API, reported actions and wrong credentials, or `off` for none. Limits
   * need the limiter of `http`; without one there are none. @default those of `ratePolicies` that are on
   */
  readonly rateLimits?: RateLimits;
  /** When exports are built and how long they are there. @default {} */
  readonly exports?: ExportOptions;
  /** Areas of your own that `fetch` serves beside those of the platform. @default [] */
  readonly areas?: readonly Area[];
}

/** How the identity area of a platform is set up. */
export interface IdentityOptions {
  /**
   * How often clients may try to log in, to register and so on: policies in place of the default ones, or `off` for no
   * limits at all, as in load tests. Limits need the limiter of `http`; without one there are none. @default {}
   */
  readonly limits?: AbuseLimits | "off";
  /** How new passwords are hashed; `argon2id` needs a native kernel. Hashes of both are verified. @default "scrypt" */
  readonly passwordHash?: PasswordAlgorithm;
  /** What passwords must pass besides length and the list of common ones. @default {} */
  readonly passwordPolicy?: PasswordPolicy;
  /**
   * Hands on what belongs to an anonymous user who logged in to an account that existed before. Called once per anonymous
   * user, in the background; what it throws is logged. @default nothing is handed on
   */
  readonly onMerge?: (merge: Merge) => Promise<void> | void;
  /** How identity providers of others are asked. @default the `fetch` and `AbortSignal.timeout` of the runtime */
  readonly remote?: RemoteFetchOptions;
}
