/**
 * Operations of the area control. Made from the route tables by `npm run client-types`: change those.
 *
 * @module
 */

import type { Answer, Area, CallOptions, List, NoInput, RawBody } from "../area.ts";
import type { IncludedResource, LoyaltyTransaction } from "./shared.ts";

/** `AccessTokens` of the OpenAPI document. */
export interface AccessTokens {
  readonly type: "access_tokens";
  readonly id: string;
  readonly attributes: {
    /** What it is for */
    readonly name?: string;
    /** `dialogue`: for the backend of a workflow, for ten minutes at most */
    readonly kind?: "access" | "dialogue";
    /** Address of the backend that a token of the kind `dialogue` is for: others refuse it */
    readonly audience?: string | null;
    /** The most that it may do, whatever its owner may */
    readonly role_cap?: "viewer" | "creator" | "admin" | null;
    /** Where it works, with everything below; null: everywhere. An event is for tokens of the kind `dialogue` */
    readonly scopes?: readonly ({
      readonly type: "organisations" | "spaces" | "projects" | "events";
      readonly id: string;
    })[] | null;
    /** When it ends, in Unix seconds; null: a year after its creation */
    readonly expires_at?: number | null;
    /** The beginning of the token, by which people recognise it */
    readonly prefix?: string | null;
    /** The token itself, in the answer of its creation alone */
    readonly token?: string | null;
    /** When it was created, in Unix seconds */
    readonly created_at?: number | null;
    /** `created_at` as ISO 8601 */
    readonly created_at_iso?: string | null;
    /** When it was last changed, in Unix seconds */
    readonly updated_at?: number | null;
    /** `updated_at` as ISO 8601 */
    readonly updated_at_iso?: string | null;
  };
  readonly relationships?: Readonly<Record<string, never>>;
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `AccessTokensDocument` of the OpenAPI document. */
export interface AccessTokensDocument {
  readonly data: AccessTokens;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `AccessTokensList` of the OpenAPI document. */
export interface AccessTokensList {
  readonly data: readonly AccessTokens[];
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `ApiKey` of the OpenAPI document. */
export interface ApiKey {
  readonly type: "api_keys";
  /** The value of X-API-Key */
  readonly id: string;
  readonly attributes: {
    readonly name: string;
    readonly permissions: readonly ("actions:write" | "users:read" | "users:write" | "rewards:write" | "users:export" | "config:read" | "config:write" | "keys:write")[];
    /** Unix seconds */
    readonly created_at: number;
    readonly created_at_iso: string;
    readonly last_used_at: number | null;
    readonly last_used_at_iso: string | null;
    readonly secrets: readonly ({
      /** Unix seconds */
      readonly created_at: number;
      readonly expires_at: number | null;
    })[];
  };
}

/** `ApiKeyRotation` of the OpenAPI document. */
export interface ApiKeyRotation {
  /** Time for which the old secret still works */
  readonly grace_seconds: number;
}

/** `ApiKeysDocument` of the OpenAPI document. */
export interface ApiKeysDocument {
  readonly data: readonly ApiKey[];
  readonly meta: {
    readonly total: number;
  };
}

/** `AppMoveDocument` of the OpenAPI document. */
export interface AppMoveDocument {
  readonly data: {
    readonly type: "apps";
    /** Id of the app */
    readonly id: string;
  };
  readonly meta: {
    readonly dry_run: boolean;
    /** Content types that the project gains */
    readonly added_types: readonly string[];
    /** Content types that the project loses */
    readonly removed_types: readonly string[];
  };
}

/** `AppOfProject` of the OpenAPI document. */
export interface AppOfProject {
  /** The app that the project gets */
  readonly data: {
    readonly type: "apps";
    readonly id: string;
  };
}

/** `Apps` of the OpenAPI document. */
export interface Apps {
  readonly type: "apps";
  readonly id: string;
  readonly attributes: {
    /** Address of `spec.json`; `elements.json` lies beside it */
    readonly spec_url?: string;
    /** Name */
    readonly name?: string | null;
    /** Id of the app in its specification */
    readonly spec_id?: string | null;
    /** Version in the specification */
    readonly version?: string | null;
    /** Digest of the specification and its element types */
    readonly spec_digest?: string | null;
    /** When the specification was read, in Unix seconds */
    readonly fetched_at?: number | null;
    /** Number of projects that use it */
    readonly project_count?: number;
    /** When it was created, in Unix seconds */
    readonly created_at?: number | null;
    /** `created_at` as ISO 8601 */
    readonly created_at_iso?: string | null;
    /** When it was last changed, in Unix seconds */
    readonly updated_at?: number | null;
    /** `updated_at` as ISO 8601 */
    readonly updated_at_iso?: string | null;
  };
  readonly relationships?: {
    /** Its space */
    readonly space?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
  };
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `AppsDocument` of the OpenAPI document. */
export interface AppsDocument {
  readonly data: Apps;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `AppsList` of the OpenAPI document. */
export interface AppsList {
  readonly data: readonly Apps[];
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `AssetTags` of the OpenAPI document. */
export interface AssetTags {
  /** Some of them */
  readonly data: readonly {
    readonly type: "tags";
    /** Its id */
    readonly id: string;
  }[];
}

/** `Assets` of the OpenAPI document. */
export interface Assets {
  readonly type: "assets";
  readonly id: string;
  readonly attributes: {
    /** Name of the file */
    readonly name?: string | null;
    /** What it shows; empty for decoration */
    readonly alt_text?: string;
    /** Media type, found in the contents */
    readonly mime?: string | null;
    /** Size of the stored file */
    readonly bytes?: number;
    /** Digest of the stored file, in hexadecimal digits */
    readonly sha256?: string | null;
    /** Width of an image in pixels, as it is shown: its orientation counts */
    readonly width?: number | null;
    /** Height of an image in pixels, as it is shown: its orientation counts */
    readonly height?: number | null;
    /** Public address */
    readonly url?: string | null;
    /** When it was created, in Unix seconds */
    readonly created_at?: number | null;
    /** `created_at` as ISO 8601 */
    readonly created_at_iso?: string | null;
    /** When it was last changed, in Unix seconds */
    readonly updated_at?: number | null;
    /** `updated_at` as ISO 8601 */
    readonly updated_at_iso?: string | null;
  };
  readonly relationships?: {
    /** Its space */
    readonly space?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
    /** Its tags; changed through their own path */
    readonly tags?: {
      readonly data: readonly {
        readonly type: "tags";
        readonly id: string;
      }[];
    };
    /** Who uploaded it */
    readonly uploader?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
  };
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `AssetsDocument` of the OpenAPI document. */
export interface AssetsDocument {
  readonly data: Assets;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `AssetsList` of the OpenAPI document. */
export interface AssetsList {
  readonly data: readonly Assets[];
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `AuditEntries` of the OpenAPI document. */
export interface AuditEntries {
  readonly type: "audit_entries";
  readonly id: string;
  readonly attributes: {
    /** When, in Unix seconds */
    readonly at?: number | null;
    /** The person; null for the platform itself */
    readonly user_id?: string | null;
    /** The token */
    readonly token_id?: string | null;
    /** The request */
    readonly request_id?: string | null;
    /** What was done to which resources: `op`, `type`, `id` and the names of written attributes */
    readonly changes?: readonly Readonly<Record<string, unknown>>[];
  };
  readonly relationships?: Readonly<Record<string, never>>;
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `AuditEntriesList` of the OpenAPI document. */
export interface AuditEntriesList {
  readonly data: readonly AuditEntries[];
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `CatalogueElements` of the OpenAPI document. */
export type CatalogueElements = readonly Readonly<Record<string, unknown>>[];

/** `CatalogueSpec` of the OpenAPI document. */
export type CatalogueSpec = Readonly<Record<string, unknown>>;

/** `ChallengeMissions` of the OpenAPI document. */
export type ChallengeMissions = readonly {
  readonly id: string;
  readonly title: string;
  readonly type?: string;
  readonly notification?: {
    readonly display?: string;
    readonly title?: string;
    readonly message?: string;
  };
  readonly rule: MissionRule;
}[];

/** `ChallengeRewards` of the OpenAPI document. */
export type ChallengeRewards = readonly ({
  readonly type: "metric";
  readonly metricId: string;
  readonly metricQuantity: number;
} | {
  readonly type: "inventory";
  readonly inventorySetId: string;
  readonly inventoryItemId: string;
} | {
  readonly type: "coupon";
  readonly couponId: string;
} | {
  readonly type: "reward";
  readonly rewardId: string;
})[];

/** `ChangedAssets` of the OpenAPI document. */
export interface ChangedAssets {
  /** Resource object to change, of the type `assets`; absent members stay */
  readonly data: {
    readonly type: "assets";
    readonly attributes?: {
      /** Name of the file */
      readonly name?: string;
      /** What it shows; empty for decoration */
      readonly alt_text?: string;
    };
    /** Id of the path */
    readonly id: string;
  };
}

/** `ChangedElements` of the OpenAPI document. */
export interface ChangedElements {
  /** Resource object to change, of the type `elements`; absent members stay */
  readonly data: {
    readonly type: "elements";
    readonly attributes?: {
      /** Name for producers */
      readonly name?: string;
      /** Label for producers */
      readonly label?: string;
      /** `timecode`: it is published `start_offset` seconds after the begin of the event */
      readonly start_mode?: "manual" | "timecode";
      /** Seconds between the begin of the event and its publication */
      readonly start_offset?: number;
      /** Alias of `start_offset` */
      readonly offset?: number;
      /** Seconds for which it is open; 0: until it is stopped or the event ends */
      readonly duration?: number;
      /** How the duration is decided */
      readonly duration_mode?: "fixed";
      /** True if its results are to be certified */
      readonly certification?: boolean;
      /** True if the feed of latest results has it */
      readonly include_in_latest_results_feed?: boolean;
      /** True if only verified users may take part */
      readonly require_verified_user?: boolean;
      /** Most votes of a user; 0 means no bound */
      readonly max_votes_per_user?: number;
      /** Most votes of a user for one option; 0 means no bound */
      readonly max_votes_per_option?: number;
      /** Fewest options of a vote */
      readonly min_options_per_vote?: number;
      /** Most options of a vote */
      readonly max_options_per_vote?: number;
      /** When results are shown */
      readonly reveal_results_mode?: "vote" | "close" | "event_end" | "never" | "manual";
      /** `auto`: the answer is shown `reveal_answer_in` seconds after the end */
      readonly reveal_answer_mode?: "auto" | "manual";
      /** Seconds between the end and the answer */
      readonly reveal_answer_in?: number;
      /** True if a user sees the answer with the vote */
      readonly reveal_answer_on_vote?: boolean;
      /** Number of the right option, counted from 1; 0 means that none is known */
      readonly correct_option?: number | null;
      /** Fields of the content type; a PATCH replaces the listed ones */
      readonly custom_fields?: readonly {
        readonly key: string;
        readonly values: unknown;
      }[];
      /** Question and options; a PATCH of a part leaves the rest */
      readonly question?: {
        readonly fields?: readonly {
          readonly key: string;
          readonly values: unknown;
        }[];
        readonly options?: readonly {
          readonly fields: readonly {
            readonly key: string;
            readonly values: unknown;
          }[];
        }[];
      } | null;
      readonly annotations?: unknown;
      /** What to do now */
      readonly action?: "publish" | "stop" | "reveal_answer" | "reveal_results" | "revoke";
    };
    /** Id of the path */
    readonly id: string;
    readonly relationships?: {
      /** The wrapper that shows it */
      readonly parent?: {
        readonly data: {
          readonly type: "elements";
          readonly id: string;
        } | null;
      };
    };
  };
}

/** `ChangedEventTemplates` of the OpenAPI document. */
export interface ChangedEventTemplates {
  /** Resource object to change, of the type `event_templates`; absent members stay */
  readonly data: {
    readonly type: "event_templates";
    readonly attributes?: {
      /** Name */
      readonly name?: string;
      /** Duration of its events, in seconds */
      readonly duration?: number;
      /** Settings of its events */
      readonly settings?: readonly {
        readonly key: string;
        readonly values: unknown;
      }[];
      readonly annotations?: unknown;
    };
    /** Id of the path */
    readonly id: string;
  };
}

/** `ChangedEvents` of the OpenAPI document. */
export interface ChangedEvents {
  /** Resource object to change, of the type `events`; absent members stay */
  readonly data: {
    readonly type: "events";
    readonly attributes?: {
      /** Name */
      readonly name?: string;
      /** Seconds from begin to end; 0: until it is stopped */
      readonly duration?: number;
      /** `clock`: it begins at `start_at`; `manual`: with the action `start` */
      readonly start_mode?: "manual" | "clock";
      /** When it begins, in Unix seconds; 0 or null for manual events */
      readonly start_at?: number | null;
      /** `scheduled`: it ends at `end_at` */
      readonly end_mode?: "duration" | "scheduled";
      /** When it ends, in Unix seconds */
      readonly end_at?: number | null;
      /** True if a copy of it begins after its end */
      readonly repeat?: boolean;
      /** Minutes between its end and the begin of the copy */
      readonly repeat_in?: number;
      /** Seconds for which it stays on demand after its end */
      readonly on_demand_duration?: number;
      /** Seconds that the end is put off */
      readonly extra_time_duration?: number;
      /** Settings of the app for this event; a PATCH replaces the listed ones */
      readonly settings?: readonly {
        readonly key: string;
        readonly values: unknown;
      }[];
      readonly services?: unknown;
      readonly annotations?: unknown;
      /** What to do now */
      readonly action?: "start" | "stop";
    };
    /** Id of the path */
    readonly id: string;
  };
}

/** `ChangedOrganisations` of the OpenAPI document. */
export interface ChangedOrganisations {
  /** Resource object to change, of the type `organisations`; absent members stay */
  readonly data: {
    readonly type: "organisations";
    readonly attributes?: {
      /** Name */
      readonly name?: string;
      readonly services?: unknown;
      readonly annotations?: unknown;
    };
    /** Id of the path */
    readonly id: string;
  };
}

/** `ChangedProjects` of the OpenAPI document. */
export interface ChangedProjects {
  /** Resource object to change, of the type `projects`; absent members stay */
  readonly data: {
    readonly type: "projects";
    readonly attributes?: {
      /** Name */
      readonly name?: string;
      /** Settings of the app, replaced as a whole; up to 4 MiB. `meta` has their `settings_digest` (SHA-256 of the canonical JSON) and `settings_bytes` */
      readonly settings?: readonly {
        readonly key: string;
        readonly values: unknown;
      }[];
      /** Languages of the content */
      readonly locales?: readonly string[];
      /** Content types of the app that the project does not use */
      readonly hidden_elements?: readonly string[];
      /** Default delay of audio synchronisation, in seconds */
      readonly audio_sync_default_delay?: number;
      /** Longest delay of audio synchronisation, in seconds */
      readonly audio_sync_max_delay?: number;
      /** True if elements may be certified */
      readonly certification_enabled?: boolean;
      /** Shows how many fans are present, from a number of them on */
      readonly presence_counter?: {
        readonly enabled: boolean;
        readonly min_threshold: number;
      };
      /** True if it is kept for its records alone */
      readonly archived?: boolean;
      /** Where it is used */
      readonly environment?: "staging" | "production";
      readonly services?: unknown;
      readonly annotations?: unknown;
    };
    /** Id of the path */
    readonly id: string;
  };
}

/** `ChangedScopeRoles` of the OpenAPI document. */
export interface ChangedScopeRoles {
  /** Resource object to change, of the type `scope_roles`; absent members stay */
  readonly data: {
    readonly type: "scope_roles";
    readonly attributes?: {
      /** The role */
      readonly role?: "viewer" | "creator" | "admin";
    };
    /** Id of the path */
    readonly id: string;
  };
}

/** `ChangedSpaces` of the OpenAPI document. */
export interface ChangedSpaces {
  /** Resource object to change, of the type `spaces`; absent members stay */
  readonly data: {
    readonly type: "spaces";
    readonly attributes?: {
      /** Name */
      readonly name?: string;
      /** The Host under which fans reach the space; no two spaces have the same */
      readonly domain?: string | null;
      readonly services?: unknown;
      readonly annotations?: unknown;
    };
    /** Id of the path */
    readonly id: string;
  };
}

/** `ContentTypes` of the OpenAPI document. */
export interface ContentTypes {
  readonly type: "content_types";
  readonly id: string;
  readonly attributes: {
    /** Name */
    readonly name?: string | null;
    /** The value that elements have */
    readonly content_type?: string | null;
    /** The type that its behaviour comes from */
    readonly derived_from?: string | null;
    /** True if the project uses it */
    readonly enabled?: boolean;
    /** True if its elements show other elements */
    readonly wrapper?: boolean;
    /** Its item in `elements.json` */
    readonly definition?: Readonly<Record<string, unknown>>;
    /** Ready-made contents */
    readonly templates?: readonly Readonly<Record<string, unknown>>[];
  };
  readonly relationships?: {
    /** Its project */
    readonly project?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
  };
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `ContentTypesDocument` of the OpenAPI document. */
export interface ContentTypesDocument {
  readonly data: ContentTypes;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `ContentTypesList` of the OpenAPI document. */
export interface ContentTypesList {
  readonly data: readonly ContentTypes[];
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `CountWindow` of the OpenAPI document. */
export type CountWindow = {
  readonly last: number;
  readonly unit: "minute" | "hour" | "day" | "week" | "month" | "year";
} | {
  readonly calendar: "day" | "week" | "month" | "year";
};

/** `DeadLetterCounts` of the OpenAPI document. */
export interface DeadLetterCounts {
  readonly data: readonly {
    readonly type: "dead_letter_counts";
    /** Id of the organisation */
    readonly id: string;
    readonly attributes: {
      /** Name of the organisation */
      readonly name: string;
      /** A space of the organisation, for the operations on its dead letters */
      readonly space_id: string;
      /** Number of its dead letters */
      readonly count: number;
    };
  }[];
  readonly links: {
    /** Address of the list */
    readonly self: string;
  };
}

/** `Elements` of the OpenAPI document. */
export interface Elements {
  readonly type: "elements";
  readonly id: string;
  readonly attributes: {
    /** Type of the content, one of the project's app */
    readonly content_type?: string;
    /** Name for producers */
    readonly name?: string;
    /** Label for producers */
    readonly label?: string;
    /** `timecode`: it is published `start_offset` seconds after the begin of the event */
    readonly start_mode?: "manual" | "timecode";
    /** Seconds between the begin of the event and its publication */
    readonly start_offset?: number;
    /** Alias of `start_offset` */
    readonly offset?: number;
    /** Seconds for which it is open; 0: until it is stopped or the event ends */
    readonly duration?: number;
    /** How the duration is decided */
    readonly duration_mode?: "fixed";
    /** True if its results are to be certified */
    readonly certification?: boolean;
    /** True if the feed of latest results has it */
    readonly include_in_latest_results_feed?: boolean;
    /** True if only verified users may take part */
    readonly require_verified_user?: boolean;
    /** Most votes of a user; 0 means no bound */
    readonly max_votes_per_user?: number;
    /** Most votes of a user for one option; 0 means no bound */
    readonly max_votes_per_option?: number;
    /** Fewest options of a vote */
    readonly min_options_per_vote?: number;
    /** Most options of a vote */
    readonly max_options_per_vote?: number;
    /** When results are shown */
    readonly reveal_results_mode?: "vote" | "close" | "event_end" | "never" | "manual";
    /** `auto`: the answer is shown `reveal_answer_in` seconds after the end */
    readonly reveal_answer_mode?: "auto" | "manual";
    /** Seconds between the end and the answer */
    readonly reveal_answer_in?: number;
    /** True if a user sees the answer with the vote */
    readonly reveal_answer_on_vote?: boolean;
    /** Number of the right option, counted from 1; 0 means that none is known */
    readonly correct_option?: number | null;
    /** Fields of the content type; a PATCH replaces the listed ones */
    readonly custom_fields?: readonly {
      readonly key: string;
      readonly values: Readonly<Record<string, unknown>>;
    }[];
    /** Question and options; a PATCH of a part leaves the rest */
    readonly question?: {
      readonly fields?: readonly {
        readonly key: string;
        readonly values: Readonly<Record<string, unknown>>;
      }[];
      readonly options?: readonly {
        readonly fields: readonly {
          readonly key: string;
          readonly values: Readonly<Record<string, unknown>>;
        }[];
      }[];
    } | null;
    /** Texts by key; a PATCH replaces the listed ones, null removes one */
    readonly annotations?: Readonly<Record<string, string>>;
    /** State at the time of the answer */
    readonly state?: "non_scheduled" | "future" | "cancelled" | "current" | "on_demand" | "past" | "revoked" | null;
    /** Actions that are possible now */
    readonly actions?: readonly string[] | null;
    /** Place in the order of the event, from 0 */
    readonly position?: number | null;
    /** When it was published, in Unix seconds */
    readonly published_at?: number | string | null;
    /** `published_at` as ISO 8601 */
    readonly published_at_iso?: number | string | null;
    /** When it was revoked, in Unix seconds */
    readonly revoked_at?: number | string | null;
    /** `revoked_at` as ISO 8601 */
    readonly revoked_at_iso?: number | string | null;
    /** When its results were revealed, as ISO 8601 */
    readonly results_revealed_at_iso?: number | string | null;
    /** When its answer was revealed, as ISO 8601 */
    readonly answer_revealed_at_iso?: number | string | null;
    /** When it was created, in Unix seconds */
    readonly created_at?: number | null;
    /** `created_at` as ISO 8601 */
    readonly created_at_iso?: string | null;
    /** When it was last changed, in Unix seconds */
    readonly updated_at?: number | null;
    /** `updated_at` as ISO 8601 */
    readonly updated_at_iso?: string | null;
  };
  readonly relationships?: {
    /** Its event */
    readonly event?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
    /** The wrapper that shows it */
    readonly parent?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
    /** The elements of a wrapper, in order */
    readonly children?: {
      readonly data: readonly {
        readonly type: "elements";
        readonly id: string;
      }[];
    };
    /** Its statistics */
    readonly stats?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
    /** The caller's role */
    readonly my_role?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
  };
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `ElementsDocument` of the OpenAPI document. */
export interface ElementsDocument {
  readonly data: Elements;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `ElementsList` of the OpenAPI document. */
export interface ElementsList {
  readonly data: readonly Elements[];
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `EventClone` of the OpenAPI document. */
export interface EventClone {
  /** Resource object of the copy, with what differs from the event */
  readonly data: {
    readonly type: "events";
    readonly attributes?: unknown;
  };
}

/** `EventElements` of the OpenAPI document. */
export interface EventElements {
  /** All of them, in order */
  readonly data: readonly {
    readonly type: "elements";
    /** Its id */
    readonly id: string;
  }[];
}

/** `EventTemplates` of the OpenAPI document. */
export interface EventTemplates {
  readonly type: "event_templates";
  readonly id: string;
  readonly attributes: {
    /** Name */
    readonly name?: string;
    /** Duration of its events, in seconds */
    readonly duration?: number;
    /** Settings of its events */
    readonly settings?: readonly {
      readonly key: string;
      readonly values: Readonly<Record<string, unknown>>;
    }[];
    /** Texts by key; a PATCH replaces the listed ones, null removes one */
    readonly annotations?: Readonly<Record<string, string>>;
    /** The elements of its events */
    readonly elements?: readonly Readonly<Record<string, unknown>>[];
    /** Number of its elements */
    readonly element_count?: number;
    /** When it was created, in Unix seconds */
    readonly created_at?: number | null;
    /** `created_at` as ISO 8601 */
    readonly created_at_iso?: string | null;
    /** When it was last changed, in Unix seconds */
    readonly updated_at?: number | null;
    /** `updated_at` as ISO 8601 */
    readonly updated_at_iso?: string | null;
  };
  readonly relationships?: {
    /** Its project */
    readonly project?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
    /** The event whose settings and elements are copied into it */
    readonly event?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
  };
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `EventTemplatesDocument` of the OpenAPI document. */
export interface EventTemplatesDocument {
  readonly data: EventTemplates;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `EventTemplatesList` of the OpenAPI document. */
export interface EventTemplatesList {
  readonly data: readonly EventTemplates[];
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `Events` of the OpenAPI document. */
export interface Events {
  readonly type: "events";
  readonly id: string;
  readonly attributes: {
    /** Name */
    readonly name?: string;
    /** Seconds from begin to end; 0: until it is stopped */
    readonly duration?: number;
    /** The duration before extra time, in seconds */
    readonly original_duration?: number | string | null;
    /** `clock`: it begins at `start_at`; `manual`: with the action `start` */
    readonly start_mode?: "manual" | "clock";
    /** When it begins, in Unix seconds; 0 or null for manual events */
    readonly start_at?: number | null;
    /** `start_at` as ISO 8601 */
    readonly start_at_iso?: number | string | null;
    /** `scheduled`: it ends at `end_at` */
    readonly end_mode?: "duration" | "scheduled";
    /** When it ends, in Unix seconds */
    readonly end_at?: number | null;
    /** `end_at` as ISO 8601 */
    readonly end_at_iso?: number | string | null;
    /** True if a copy of it begins after its end */
    readonly repeat?: boolean;
    /** Minutes between its end and the begin of the copy */
    readonly repeat_in?: number;
    /** Seconds for which it stays on demand after its end */
    readonly on_demand_duration?: number;
    /** Seconds that the end is put off */
    readonly extra_time_duration?: number;
    /** Settings of the app for this event; a PATCH replaces the listed ones */
    readonly settings?: readonly {
      readonly key: string;
      readonly values: Readonly<Record<string, unknown>>;
    }[];
    /** Settings of the platform's areas for this event, by section */
    readonly services?: Readonly<Record<string, unknown>>;
    /** Texts by key; a PATCH replaces the listed ones, null removes one */
    readonly annotations?: Readonly<Record<string, string>>;
    /** State at the time of the answer */
    readonly state?: "future" | "current" | "on_demand" | "past" | null;
    /** Actions that are possible now */
    readonly actions?: readonly ("start" | "stop")[] | null;
    /** Id in the address of the live statistics */
    readonly live_stats_uuid?: string | null;
    /** Number of elements in all, of drafts, scheduled and published ones */
    readonly element_counts?: Readonly<Record<string, unknown>> | null;
    /** Addresses of the event and its feeds */
    readonly urls?: Readonly<Record<string, unknown>> | null;
    /** When it was created, in Unix seconds */
    readonly created_at?: number | null;
    /** `created_at` as ISO 8601 */
    readonly created_at_iso?: string | null;
    /** When it was last changed, in Unix seconds */
    readonly updated_at?: number | null;
    /** `updated_at` as ISO 8601 */
    readonly updated_at_iso?: string | null;
  };
  readonly relationships?: {
    /** Its project */
    readonly project?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
    /** The template that it is made from */
    readonly template?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
    /** Its statistics */
    readonly stats?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
    /** Its elements, in order */
    readonly elements?: {
      /** Addresses: `self`, and of lists `first` and `next` */
      readonly links: Readonly<Record<string, string | null>>;
    };
    /** The caller's role */
    readonly my_role?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
  };
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `EventsDocument` of the OpenAPI document. */
export interface EventsDocument {
  readonly data: Events;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `EventsList` of the OpenAPI document. */
export interface EventsList {
  readonly data: readonly Events[];
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `InventoryItems` of the OpenAPI document. */
export type InventoryItems = readonly {
  readonly id: string;
  readonly title: string;
  readonly media?: string;
}[];

/** `IssuedApiKey` of the OpenAPI document. */
export interface IssuedApiKey {
  readonly data: {
    readonly type: "api_keys";
    readonly id: string;
    readonly attributes: {
      readonly name: string;
      readonly permissions: readonly ("actions:write" | "users:read" | "users:write" | "rewards:write" | "users:export" | "config:read" | "config:write" | "keys:write")[];
      /** Unix seconds */
      readonly created_at: number;
      readonly created_at_iso: string;
      /** The value of X-API-Secret, which cannot be read again */
      readonly secret: string;
    };
  };
}

/** `JsonSchema` of the OpenAPI document. */
export type JsonSchema = Readonly<Record<string, never>>;

/** `LotExpiry` of the OpenAPI document. */
export type LotExpiry = {
  readonly after: {
    readonly minutes?: number;
    readonly hours?: number;
    readonly days?: number;
    readonly weeks?: number;
    readonly months?: number;
    readonly years?: number;
  };
} | {
  readonly endOf: "day" | "week" | "month" | "year";
} | {
  readonly inactive: {
    readonly minutes?: number;
    readonly hours?: number;
    readonly days?: number;
    readonly weeks?: number;
    readonly months?: number;
    readonly years?: number;
  };
};

/** `LoyaltyActions` of the OpenAPI document. */
export type LoyaltyActions = readonly ({
  readonly name: string;
  readonly clientReportable?: boolean;
  readonly data?: Readonly<Record<string, "string" | "number" | "boolean">>;
})[];

/** `LoyaltyCalculation` of the OpenAPI document. */
export type LoyaltyCalculation = {
  readonly var: string;
} | {
  readonly if: readonly [LoyaltyCondition, number | LoyaltyCalculation, number | LoyaltyCalculation];
} | {
  readonly add: readonly (number | LoyaltyCalculation)[];
} | {
  readonly sub: readonly (number | LoyaltyCalculation)[];
} | {
  readonly mul: readonly (number | LoyaltyCalculation)[];
} | {
  readonly div0: readonly (number | LoyaltyCalculation)[];
} | {
  readonly min: readonly (number | LoyaltyCalculation)[];
} | {
  readonly max: readonly (number | LoyaltyCalculation)[];
} | {
  readonly floor: number | LoyaltyCalculation;
} | {
  readonly round: number | LoyaltyCalculation;
} | {
  readonly count: {
    readonly action: string;
    readonly where?: LoyaltyCondition;
    readonly window?: CountWindow;
  };
} | {
  readonly sum: {
    readonly action: string;
    readonly of: number | LoyaltyCalculation;
    readonly where?: LoyaltyCondition;
    readonly window?: CountWindow;
  };
} | {
  readonly streak: {
    readonly action: string;
    readonly where?: LoyaltyCondition;
    readonly unit: "day" | "week" | "month";
  };
} | {
  readonly distinct: {
    readonly action: string;
    readonly of: {
      readonly var: string;
    };
    readonly where?: LoyaltyCondition;
    readonly window?: CountWindow;
  };
};

/** `LoyaltyChallenges` of the OpenAPI document. */
export type LoyaltyChallenges = readonly ({
  readonly id: string;
  readonly title: string;
  readonly subtitle?: string;
  readonly media?: string;
  readonly notification?: {
    readonly display?: string;
    readonly title?: string;
    readonly message?: string;
  };
  readonly failureNotification?: {
    readonly display?: string;
    readonly title?: string;
    readonly message?: string;
  };
  readonly showInProfile?: boolean;
  readonly showInRail?: boolean;
  readonly time?: {
    readonly showInUI?: boolean;
    readonly from?: number | string;
    readonly to?: number | string;
  };
  readonly visibility?: "public" | "members";
  readonly start?: "auto" | "rule";
  readonly within?: {
    readonly minutes?: number;
    readonly hours?: number;
    readonly days?: number;
    readonly weeks?: number;
    readonly months?: number;
    readonly years?: number;
  };
  readonly fail?: {
    readonly action: string;
    readonly when?: LoyaltyCondition;
  };
  readonly recurrence?: "none" | "onCompletion" | "onExpiration";
  readonly period?: "day" | "week" | "month" | "year";
  readonly requires?: RequiredChallenges;
  readonly missions: ChallengeMissions;
  readonly rewards?: ChallengeRewards;
})[];

/** `LoyaltyCodePools` of the OpenAPI document. */
export type LoyaltyCodePools = readonly {
  readonly id: string;
  readonly title: string;
}[];

/** `LoyaltyCondition` of the OpenAPI document. */
export type LoyaltyCondition = {
  readonly all: readonly LoyaltyCondition[];
} | {
  readonly any: readonly LoyaltyCondition[];
} | {
  readonly not: LoyaltyCondition;
} | {
  readonly eq: readonly [string | number | boolean | LoyaltyCalculation, string | number | boolean | LoyaltyCalculation];
} | {
  readonly ne: readonly [string | number | boolean | LoyaltyCalculation, string | number | boolean | LoyaltyCalculation];
} | {
  readonly gt: readonly [string | number | boolean | LoyaltyCalculation, string | number | boolean | LoyaltyCalculation];
} | {
  readonly gte: readonly [string | number | boolean | LoyaltyCalculation, string | number | boolean | LoyaltyCalculation];
} | {
  readonly lt: readonly [string | number | boolean | LoyaltyCalculation, string | number | boolean | LoyaltyCalculation];
} | {
  readonly lte: readonly [string | number | boolean | LoyaltyCalculation, string | number | boolean | LoyaltyCalculation];
} | {
  readonly between: readonly [string | number | boolean | LoyaltyCalculation, string | number | boolean | LoyaltyCalculation, string | number | boolean | LoyaltyCalculation];
} | {
  readonly contains: readonly [string | number | boolean | LoyaltyCalculation, string | number | boolean | LoyaltyCalculation];
} | {
  readonly startsWith: readonly [string | number | boolean | LoyaltyCalculation, string | number | boolean | LoyaltyCalculation];
} | {
  readonly in: readonly [string | number | boolean | LoyaltyCalculation, readonly (string | number | boolean)[]];
} | {
  readonly exists: {
    readonly var: string;
  };
};

/** `LoyaltyConfiguration` of the OpenAPI document. */
export interface LoyaltyConfiguration {
  readonly data: {
    readonly type: "loyalty_configurations";
    readonly id: string;
    readonly attributes: Readonly<Record<string, never>>;
    readonly meta: {
      readonly version: number;
      readonly digest: string;
      readonly created_at: number;
      readonly created_at_iso: string;
      readonly created_by: string;
      readonly rollback_of: number | null;
    };
    readonly links: {
      readonly self: string;
    };
  };
}

/** `LoyaltyConfigurationChange` of the OpenAPI document. */
export type LoyaltyConfigurationChange = SentLoyaltyConfiguration | {
  /** IANA time zone of days, weeks and months */
  readonly timeZone?: string;
  /** Custom field of the profile with the IANA time zone of the user's own days */
  readonly userTimeZone?: {
    readonly var: string;
  };
  /** First day of weeks */
  readonly weekStartsOn?: "monday" | "sunday";
  /** Numbers of each user, such as points */
  readonly metrics?: LoyaltyMetrics;
  /** Sets of things that users collect */
  readonly inventory?: LoyaltyInventory;
  /** Thresholds of metrics, and what reaching them earns */
  readonly milestones?: LoyaltyMilestones;
  /** Coupons that users are given */
  readonly coupons?: LoyaltyCoupons;
  /** Pools of unique codes, for coupons and products */
  readonly codePools?: LoyaltyCodePools;
  /** Actions that may be reported */
  readonly actions?: LoyaltyActions;
  /** Challenges and their missions */
  readonly challenges?: LoyaltyChallenges;
  /** What actions and events cause */
  readonly rules?: LoyaltyRules;
  /** Times at which rules give a multiple */
  readonly multipliers?: LoyaltyMultipliers;
  /** Rewards that others name by their ids */
  readonly rewards?: LoyaltyRewards;
  /** What users pay for with metrics */
  readonly products?: LoyaltyProducts;
  /** Services that receive changes */
  readonly webhooks?: LoyaltyWebhooks;
  /** How long notifications are kept */
  readonly notifications?: {
    readonly keepFor?: {
      readonly minutes?: number;
      readonly hours?: number;
      readonly days?: number;
      readonly weeks?: number;
      readonly months?: number;
      readonly years?: number;
    };
  };
};

/** `LoyaltyCoupons` of the OpenAPI document. */
export type LoyaltyCoupons = readonly ({
  readonly id: string;
  readonly title: string;
  readonly link?: string;
  readonly type: "unique" | "shared";
  readonly code?: string;
  readonly poolId?: string;
  readonly showOnNotification?: boolean;
  readonly expiresAfter?: {
    readonly minutes?: number;
    readonly hours?: number;
    readonly days?: number;
    readonly weeks?: number;
    readonly months?: number;
    readonly years?: number;
  };
})[];

/** `LoyaltyInventory` of the OpenAPI document. */
export type LoyaltyInventory = readonly {
  readonly id: string;
  readonly title: string;
  readonly items?: InventoryItems;
}[];

/** `LoyaltyMetrics` of the OpenAPI document. */
export type LoyaltyMetrics = readonly {
  readonly id: string;
  readonly title: string;
  readonly media?: string;
  readonly defaultValue?: number;
  readonly minimumValue?: number;
  readonly maximumValue?: number;
  readonly lots?: {
    readonly activatesAfter?: {
      readonly minutes?: number;
      readonly hours?: number;
      readonly days?: number;
      readonly weeks?: number;
      readonly months?: number;
      readonly years?: number;
    };
    readonly expires?: LotExpiry;
    readonly reminder?: {
      readonly before: {
        readonly minutes?: number;
        readonly hours?: number;
        readonly days?: number;
        readonly weeks?: number;
        readonly months?: number;
        readonly years?: number;
      };
      readonly notification?: {
        readonly display?: string;
        readonly title?: string;
        readonly message?: string;
      };
    };
  };
  readonly caps?: MetricCaps;
  readonly allowNegative?: boolean;
}[];

/** `LoyaltyMilestones` of the OpenAPI document. */
export type LoyaltyMilestones = readonly ({
  readonly id: string;
  readonly title: string;
  readonly metricId: string;
  readonly measure?: "balance" | "earned";
  readonly isTier?: boolean;
  readonly requalify?: PointsExpiry;
  readonly milestones: MilestoneSteps;
})[];

/** `LoyaltyMultipliers` of the OpenAPI document. */
export type LoyaltyMultipliers = readonly ({
  readonly id: string;
  readonly factor: number;
  readonly tag?: string;
  readonly time?: {
    readonly from?: number | string;
    readonly to?: number | string;
  };
  readonly schedule?: {
    readonly timeZone?: string;
    readonly weekly: RuleSchedule;
  };
})[];

/** `LoyaltyNumber` of the OpenAPI document. */
export type LoyaltyNumber = number | LoyaltyCalculation;

/** `LoyaltyProducts` of the OpenAPI document. */
export type LoyaltyProducts = readonly ({
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  readonly media?: string;
  readonly category?: string;
  readonly sku?: string;
  readonly when?: LoyaltyCondition;
  readonly prices: readonly {
    readonly currency: string;
    readonly amount: number;
  }[];
  readonly stock?: {
    readonly type: "unlimited";
  } | {
    readonly type: "limited";
    readonly quantity: number;
    readonly window?: "day" | "week" | "month" | "year";
  };
  readonly limits?: {
    readonly perUser: number;
    readonly window?: "day" | "week" | "month" | "year";
  };
  readonly availableFrom?: number | string;
  readonly availableTo?: number | string;
  readonly fulfilment: {
    readonly type: "coupon";
    readonly couponId: string;
  } | {
    readonly type: "inventory";
    readonly inventorySetId: string;
    readonly inventoryItemId: string;
  } | {
    readonly type: "manual";
  } | {
    readonly type: "webhook";
  };
  readonly enabled?: boolean;
})[];

/** `LoyaltyRewards` of the OpenAPI document. */
export type LoyaltyRewards = readonly {
  readonly id: string;
  readonly title: string;
  readonly effects: RewardEffects;
}[];

/** `LoyaltyRollback` of the OpenAPI document. */
export interface LoyaltyRollback {
  /** Number of the kept version to make active again */
  readonly version: number;
}

/** `LoyaltyRules` of the OpenAPI document. */
export type LoyaltyRules = readonly ({
  readonly id: string;
  readonly trigger: RuleTrigger;
  readonly when?: LoyaltyCondition;
  readonly effects: RuleEffects;
  readonly priority?: number;
  readonly limits?: RuleLimits;
  readonly caps?: RuleCaps;
  readonly group?: string;
  readonly tags?: RuleTags;
  readonly enabled?: boolean;
  readonly time?: {
    readonly from?: number | string;
    readonly to?: number | string;
  };
  readonly schedule?: {
    readonly timeZone?: string;
    readonly weekly: RuleSchedule;
  };
})[];

/** `LoyaltyVersion` of the OpenAPI document. */
export interface LoyaltyVersion {
  readonly type: "loyalty_versions";
  readonly id: string;
  readonly attributes: {
    readonly digest: string;
    readonly created_at: number;
    readonly created_at_iso: string;
    readonly created_by: string;
    readonly rollback_of: number | null;
    readonly document?: Readonly<Record<string, never>>;
  };
  readonly links: {
    readonly self: string;
  };
}

/** `LoyaltyVersionDocument` of the OpenAPI document. */
export interface LoyaltyVersionDocument {
  readonly data: LoyaltyVersion;
}

/** `LoyaltyVersionsDocument` of the OpenAPI document. */
export interface LoyaltyVersionsDocument {
  readonly data: readonly LoyaltyVersion[];
  readonly meta: {
    readonly total: number;
  };
}

/** `LoyaltyWebhook` of the OpenAPI document. */
export interface LoyaltyWebhook {
  readonly type: "loyalty_webhooks";
  readonly id: string;
  readonly attributes: {
    readonly url: string;
    readonly events: readonly string[];
    /** Secret with which the receiver verifies messages */
    readonly secret?: string;
    readonly status: "ok" | "failing" | "disabled";
    readonly failing_since: number | null;
    readonly last_failure: {
      /** Unix time in seconds */
      readonly at: number;
      readonly reason: string;
    } | null;
    readonly disabled_at: number | null;
    readonly disabled_reason: "gone" | "failing" | null;
    readonly waiting: number;
    readonly dead_letters: number;
  };
}

/** `LoyaltyWebhookDocument` of the OpenAPI document. */
export interface LoyaltyWebhookDocument {
  readonly data: LoyaltyWebhook;
}

/** `LoyaltyWebhooks` of the OpenAPI document. */
export type LoyaltyWebhooks = readonly {
  readonly id: string;
  readonly url: string;
  readonly events: WebhookEvents;
}[];

/** `LoyaltyWebhooksDocument` of the OpenAPI document. */
export interface LoyaltyWebhooksDocument {
  readonly data: readonly LoyaltyWebhook[];
  readonly meta: {
    readonly total: number;
  };
}

/** `MediaTypesInUse` of the OpenAPI document. */
export interface MediaTypesInUse {
  readonly data: readonly {
    readonly type: "media_types";
    /** What is counted */
    readonly id: string;
    readonly attributes: {
      /** Media type */
      readonly mime: string;
      /** Number of assets */
      readonly count: number;
    };
  }[];
  readonly links: {
    readonly self: string;
  };
}

/** `MetricCaps` of the OpenAPI document. */
export type MetricCaps = readonly {
  readonly max: number;
  readonly window?: CountWindow;
}[];

/** `MilestoneSteps` of the OpenAPI document. */
export type MilestoneSteps = readonly ({
  readonly id: string;
  readonly title: string;
  readonly media?: string;
  readonly threshold: number;
  readonly rewards?: readonly ({
    readonly type: "metric";
    readonly metricId: string;
    readonly metricQuantity: number;
  } | {
    readonly type: "inventory";
    readonly inventorySetId: string;
    readonly inventoryItemId: string;
  } | {
    readonly type: "coupon";
    readonly couponId: string;
  } | {
    readonly type: "reward";
    readonly rewardId: string;
  })[];
  readonly notification?: {
    readonly display?: string;
    readonly title?: string;
    readonly message?: string;
  };
})[];

/** `MissionRule` of the OpenAPI document. */
export type MissionRule = {
  readonly action: string;
  readonly when?: LoyaltyCondition;
  readonly count?: number;
  readonly amount?: LoyaltyNumber;
} | {
  readonly action: string;
  readonly when?: LoyaltyCondition;
  readonly count?: number;
  readonly distinct: {
    readonly var: string;
  };
} | {
  readonly metric: string;
  readonly atLeast: number;
};

/** `MyRole` of the OpenAPI document. */
export interface MyRole {
  readonly data: {
    readonly type: "scope_roles";
    /** Id of the organisation, space, project, event or element */
    readonly id: string;
    readonly attributes: {
      /** The caller's role */
      readonly role: "none" | "viewer" | "creator" | "admin";
    };
  };
  readonly meta: {
    /** Where the role was granted, if not here */
    readonly inherited_from: {
      readonly type: string;
      readonly id: string;
    } | null;
    /** What it belongs to, nearest first; none without a role */
    readonly parents: readonly {
      readonly type: string;
      readonly id: string;
    }[];
  };
}

/** `NewAccessTokens` of the OpenAPI document. */
export interface NewAccessTokens {
  /** Resource object to create, of the type `access_tokens` */
  readonly data: {
    readonly type: "access_tokens";
    readonly attributes?: {
      /** What it is for */
      readonly name: string;
      /** `dialogue`: for the backend of a workflow, for ten minutes at most */
      readonly kind?: "access" | "dialogue";
      /** Address of the backend that a token of the kind `dialogue` is for: others refuse it */
      readonly audience?: string | null;
      /** The most that it may do, whatever its owner may */
      readonly role_cap?: "viewer" | "creator" | "admin" | null;
      /** Where it works, with everything below; null: everywhere. An event is for tokens of the kind `dialogue` */
      readonly scopes?: readonly ({
        readonly type: "organisations" | "spaces" | "projects" | "events";
        readonly id: string;
      })[] | null;
      /** When it ends, in Unix seconds; null: a year after its creation */
      readonly expires_at?: number | null;
    };
  };
}

/** `NewApiKey` of the OpenAPI document. */
export interface NewApiKey {
  /** The new key: its name and permissions */
  readonly data: {
    readonly type: "api_keys";
    readonly attributes: {
      readonly name: string;
      readonly permissions: readonly ("actions:write" | "users:read" | "users:write" | "rewards:write" | "users:export" | "config:read" | "config:write" | "keys:write")[];
    };
  };
}

/** `NewApps` of the OpenAPI document. */
export interface NewApps {
  /** Resource object to create, of the type `apps` */
  readonly data: {
    readonly type: "apps";
    readonly attributes?: {
      /** Address of `spec.json`; `elements.json` lies beside it */
      readonly spec_url: string;
    };
    readonly relationships?: {
      /** Its space */
      readonly space: {
        readonly data: {
          readonly type: "spaces";
          readonly id: string;
        } | null;
      };
    };
  };
}

/** `NewElements` of the OpenAPI document. */
export interface NewElements {
  /** Resource object to create, of the type `elements` */
  readonly data: {
    readonly type: "elements";
    readonly attributes?: {
      /** Type of the content, one of the project's app */
      readonly content_type: string;
      /** Name for producers */
      readonly name?: string;
      /** Label for producers */
      readonly label?: string;
      /** `timecode`: it is published `start_offset` seconds after the begin of the event */
      readonly start_mode?: "manual" | "timecode";
      /** Seconds between the begin of the event and its publication */
      readonly start_offset?: number;
      /** Alias of `start_offset` */
      readonly offset?: number;
      /** Seconds for which it is open; 0: until it is stopped or the event ends */
      readonly duration?: number;
      /** How the duration is decided */
      readonly duration_mode?: "fixed";
      /** True if its results are to be certified */
      readonly certification?: boolean;
      /** True if the feed of latest results has it */
      readonly include_in_latest_results_feed?: boolean;
      /** True if only verified users may take part */
      readonly require_verified_user?: boolean;
      /** Most votes of a user; 0 means no bound */
      readonly max_votes_per_user?: number;
      /** Most votes of a user for one option; 0 means no bound */
      readonly max_votes_per_option?: number;
      /** Fewest options of a vote */
      readonly min_options_per_vote?: number;
      /** Most options of a vote */
      readonly max_options_per_vote?: number;
      /** When results are shown */
      readonly reveal_results_mode?: "vote" | "close" | "event_end" | "never" | "manual";
      /** `auto`: the answer is shown `reveal_answer_in` seconds after the end */
      readonly reveal_answer_mode?: "auto" | "manual";
      /** Seconds between the end and the answer */
      readonly reveal_answer_in?: number;
      /** True if a user sees the answer with the vote */
      readonly reveal_answer_on_vote?: boolean;
      /** Number of the right option, counted from 1; 0 means that none is known */
      readonly correct_option?: number | null;
      /** Fields of the content type; a PATCH replaces the listed ones */
      readonly custom_fields?: readonly {
        readonly key: string;
        readonly values: unknown;
      }[];
      /** Question and options; a PATCH of a part leaves the rest */
      readonly question?: {
        readonly fields?: readonly {
          readonly key: string;
          readonly values: unknown;
        }[];
        readonly options?: readonly {
          readonly fields: readonly {
            readonly key: string;
            readonly values: unknown;
          }[];
        }[];
      } | null;
      readonly annotations?: unknown;
      /** What to do now */
      readonly action?: "publish";
    };
    readonly relationships?: {
      /** Its event */
      readonly event: {
        readonly data: {
          readonly type: "events";
          readonly id: string;
        } | null;
      };
      /** The wrapper that shows it */
      readonly parent?: {
        readonly data: {
          readonly type: "elements";
          readonly id: string;
        } | null;
      };
    };
  };
}

/** `NewEventTemplates` of the OpenAPI document. */
export interface NewEventTemplates {
  /** Resource object to create, of the type `event_templates` */
  readonly data: {
    readonly type: "event_templates";
    readonly attributes?: {
      /** Name */
      readonly name: string;
      /** Duration of its events, in seconds */
      readonly duration?: number;
      /** Settings of its events */
      readonly settings?: readonly {
        readonly key: string;
        readonly values: unknown;
      }[];
      readonly annotations?: unknown;
    };
    readonly relationships?: {
      /** Its project */
      readonly project: {
        readonly data: {
          readonly type: "projects";
          readonly id: string;
        } | null;
      };
      /** The event whose settings and elements are copied into it */
      readonly event?: {
        readonly data: {
          readonly type: "events";
          readonly id: string;
        } | null;
      };
    };
  };
}

/** `NewEvents` of the OpenAPI document. */
export interface NewEvents {
  /** Resource object to create, of the type `events` */
  readonly data: {
    readonly type: "events";
    readonly attributes?: {
      /** Name */
      readonly name: string;
      /** Seconds from begin to end; 0: until it is stopped */
      readonly duration?: number;
      /** `clock`: it begins at `start_at`; `manual`: with the action `start` */
      readonly start_mode?: "manual" | "clock";
      /** When it begins, in Unix seconds; 0 or null for manual events */
      readonly start_at?: number | null;
      /** `scheduled`: it ends at `end_at` */
      readonly end_mode?: "duration" | "scheduled";
      /** When it ends, in Unix seconds */
      readonly end_at?: number | null;
      /** True if a copy of it begins after its end */
      readonly repeat?: boolean;
      /** Minutes between its end and the begin of the copy */
      readonly repeat_in?: number;
      /** Seconds for which it stays on demand after its end */
      readonly on_demand_duration?: number;
      /** Seconds that the end is put off */
      readonly extra_time_duration?: number;
      /** Settings of the app for this event; a PATCH replaces the listed ones */
      readonly settings?: readonly {
        readonly key: string;
        readonly values: unknown;
      }[];
      readonly services?: unknown;
      readonly annotations?: unknown;
      /** What to do now */
      readonly action?: "start";
    };
    readonly relationships?: {
      /** Its project */
      readonly project: {
        readonly data: {
          readonly type: "projects";
          readonly id: string;
        } | null;
      };
      /** The template that it is made from */
      readonly template?: {
        readonly data: {
          readonly type: "event_templates";
          readonly id: string;
        } | null;
      };
    };
  };
}

/** `NewOrganisations` of the OpenAPI document. */
export interface NewOrganisations {
  /** Resource object to create, of the type `organisations` */
  readonly data: {
    readonly type: "organisations";
    readonly attributes?: {
      /** Name */
      readonly name: string;
      readonly services?: unknown;
      readonly annotations?: unknown;
    };
  };
}

/** `NewProjects` of the OpenAPI document. */
export interface NewProjects {
  /** Resource object to create, of the type `projects` */
  readonly data: {
    readonly type: "projects";
    readonly attributes?: {
      /** Name */
      readonly name: string;
      /** Settings of the app, replaced as a whole; up to 4 MiB. `meta` has their `settings_digest` (SHA-256 of the canonical JSON) and `settings_bytes` */
      readonly settings?: readonly {
        readonly key: string;
        readonly values: unknown;
      }[];
      /** Languages of the content */
      readonly locales?: readonly string[];
      /** Content types of the app that the project does not use */
      readonly hidden_elements?: readonly string[];
      /** Default delay of audio synchronisation, in seconds */
      readonly audio_sync_default_delay?: number;
      /** Longest delay of audio synchronisation, in seconds */
      readonly audio_sync_max_delay?: number;
      /** True if elements may be certified */
      readonly certification_enabled?: boolean;
      /** Shows how many fans are present, from a number of them on */
      readonly presence_counter?: {
        readonly enabled: boolean;
        readonly min_threshold: number;
      };
      /** True if it is kept for its records alone */
      readonly archived?: boolean;
      /** Where it is used */
      readonly environment?: "staging" | "production";
      readonly services?: unknown;
      readonly annotations?: unknown;
    };
    readonly relationships?: {
      /** Its space */
      readonly space: {
        readonly data: {
          readonly type: "spaces";
          readonly id: string;
        } | null;
      };
      /** Its app; changed through its own path */
      readonly app: {
        readonly data: {
          readonly type: "apps";
          readonly id: string;
        } | null;
      };
    };
  };
}

/** `NewScopeRoles` of the OpenAPI document. */
export interface NewScopeRoles {
  /** Resource object to create, of the type `scope_roles` */
  readonly data: {
    readonly type: "scope_roles";
    readonly attributes?: {
      /** The role */
      readonly role: "viewer" | "creator" | "admin";
      readonly email: string;
    };
  };
}

/** `NewSession` of the OpenAPI document. */
export interface NewSession {
  /** Resource object of the login */
  readonly data: {
    readonly type: "sessions";
    readonly attributes: {
      readonly email: string;
    };
  };
}

/** `NewSpaces` of the OpenAPI document. */
export interface NewSpaces {
  /** Resource object to create, of the type `spaces` */
  readonly data: {
    readonly type: "spaces";
    readonly attributes?: {
      /** Name */
      readonly name: string;
      /** The Host under which fans reach the space; no two spaces have the same */
      readonly domain?: string | null;
      readonly services?: unknown;
      readonly annotations?: unknown;
    };
    readonly relationships?: {
      /** Its organisation */
      readonly organisation: {
        readonly data: {
          readonly type: "organisations";
          readonly id: string;
        } | null;
      };
    };
  };
}

/** `NewSpecChecks` of the OpenAPI document. */
export interface NewSpecChecks {
  /** Resource object to create, of the type `spec_checks` */
  readonly data: {
    readonly type: "spec_checks";
    readonly attributes?: {
      /** Address of `spec.json` */
      readonly spec_url: string;
      /** Sent in place of our own, which names the authoring environment */
      readonly user_agent?: string;
    };
  };
}

/** `NewTags` of the OpenAPI document. */
export interface NewTags {
  /** Resource object to create, of the type `tags` */
  readonly data: {
    readonly type: "tags";
    readonly attributes?: {
      /** Name, once in a space */
      readonly name: string;
    };
    readonly relationships?: {
      /** Its space */
      readonly space: {
        readonly data: {
          readonly type: "spaces";
          readonly id: string;
        } | null;
      };
    };
  };
}

/** `OperationResults` of the OpenAPI document. */
export interface OperationResults {
  /** What each operation left */
  readonly "atomic:results": readonly {
    /** The resource; none if it was removed */
    readonly data?: Readonly<Record<string, unknown>>;
    /** Facts about the resource */
    readonly meta?: {
      /** Its entity tag */
      readonly etag: string;
    };
  }[];
  /** `dry_run` if nothing was written */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `Operations` of the OpenAPI document. */
export interface Operations {
  /** The operations, which are made in order */
  readonly "atomic:operations": readonly ({
    /** What is done */
    readonly op: "add" | "update" | "remove";
    /** The resource, where `data` does not name it */
    readonly ref?: {
      /** Type of the resource */
      readonly type: string;
      /** Its id */
      readonly id?: string;
      /** The local id that an earlier operation gave to it */
      readonly lid?: string;
      /** The relationship that is changed */
      readonly relationship?: string;
    };
    /** The resource object, or the resources of a relationship */
    readonly data?: {
      readonly type: string;
      readonly id?: string;
      readonly lid?: string;
      readonly attributes?: unknown;
      readonly relationships?: unknown;
      readonly links?: unknown;
      readonly meta?: unknown;
    } | readonly {
      /** Type of the resource */
      readonly type: string;
      /** Its id */
      readonly id?: string;
      /** The local id that an earlier operation gave to it */
      readonly lid?: string;
      /** The relationship that is changed */
      readonly relationship?: string;
    }[] | null;
    readonly meta?: {
      /** Entity tags of which one must be current, as in `If-Match` */
      readonly if_match?: string;
    };
  })[];
}

/** `Organisations` of the OpenAPI document. */
export interface Organisations {
  readonly type: "organisations";
  readonly id: string;
  readonly attributes: {
    /** Name */
    readonly name?: string;
    /** Settings of the platform's areas by section (leaderboards, location, identity, …), each checked by its area */
    readonly services?: Readonly<Record<string, unknown>>;
    /** Texts by key; a PATCH replaces the listed ones, null removes one */
    readonly annotations?: Readonly<Record<string, string>>;
    /** Addresses of the resource */
    readonly urls?: Readonly<Record<string, unknown>> | null;
    /** When it was created, in Unix seconds */
    readonly created_at?: number | null;
    /** `created_at` as ISO 8601 */
    readonly created_at_iso?: string | null;
    /** When it was last changed, in Unix seconds */
    readonly updated_at?: number | null;
    /** `updated_at` as ISO 8601 */
    readonly updated_at_iso?: string | null;
  };
  readonly relationships?: {
    /** Its spaces */
    readonly spaces?: {
      /** Addresses: `self`, and of lists `first` and `next` */
      readonly links: Readonly<Record<string, string | null>>;
    };
    /** The caller's role */
    readonly my_role?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
  };
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `OrganisationsDocument` of the OpenAPI document. */
export interface OrganisationsDocument {
  readonly data: Organisations;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `OrganisationsList` of the OpenAPI document. */
export interface OrganisationsList {
  readonly data: readonly Organisations[];
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `PointsExpiry` of the OpenAPI document. */
export type PointsExpiry = {
  readonly after: {
    readonly minutes?: number;
    readonly hours?: number;
    readonly days?: number;
    readonly weeks?: number;
    readonly months?: number;
    readonly years?: number;
  };
} | {
  readonly endOf: "day" | "week" | "month" | "year";
};

/** `Process` of the OpenAPI document. */
export interface Process {
  readonly data: {
    readonly type: "processes";
    /** Id of the process, until it ends */
    readonly id: string;
    readonly attributes: {
      /** Unix time in seconds, with a fraction */
      readonly measured_at: number;
      /** Bounds of histograms, in seconds */
      readonly bucket_bounds: readonly number[];
      /** The metrics; null where the process measures nothing */
      readonly figures: readonly {
        /** Name of the metric */
        readonly name: string;
        /** Its labels */
        readonly labels: Readonly<Record<string, string>>;
        /** Value of a counter or gauge */
        readonly value?: number;
        /** Sum of the values of a histogram, in seconds */
        readonly sum?: number;
        /** Values of a histogram that are at most each bound; the last number counts all */
        readonly buckets?: readonly number[];
      }[] | null;
    };
  };
}

/** `Projects` of the OpenAPI document. */
export interface Projects {
  readonly type: "projects";
  readonly id: string;
  readonly attributes: {
    /** Name */
    readonly name?: string;
    /** Settings of the app, replaced as a whole; up to 4 MiB. `meta` has their `settings_digest` (SHA-256 of the canonical JSON) and `settings_bytes` */
    readonly settings?: readonly {
      readonly key: string;
      readonly values: Readonly<Record<string, unknown>>;
    }[];
    /** Languages of the content */
    readonly locales?: readonly string[];
    /** Content types of the app that the project does not use */
    readonly hidden_elements?: readonly string[];
    /** Content types of the app that the project uses */
    readonly enabled_types?: readonly string[];
    /** Default delay of audio synchronisation, in seconds */
    readonly audio_sync_default_delay?: number;
    /** Longest delay of audio synchronisation, in seconds */
    readonly audio_sync_max_delay?: number;
    /** True if elements may be certified */
    readonly certification_enabled?: boolean;
    /** Shows how many fans are present, from a number of them on */
    readonly presence_counter?: {
      readonly enabled: boolean;
      readonly min_threshold: number;
    };
    /** True if it is kept for its records alone */
    readonly archived?: boolean;
    /** Where it is used */
    readonly environment?: "staging" | "production";
    /** Settings of the platform's areas by section (leaderboards, location, identity, …), each checked by its area */
    readonly services?: Readonly<Record<string, unknown>>;
    /** Texts by key; a PATCH replaces the listed ones, null removes one */
    readonly annotations?: Readonly<Record<string, string>>;
    /** Addresses of the resource */
    readonly urls?: Readonly<Record<string, unknown>> | null;
    /** When it was created, in Unix seconds */
    readonly created_at?: number | null;
    /** `created_at` as ISO 8601 */
    readonly created_at_iso?: string | null;
    /** When it was last changed, in Unix seconds */
    readonly updated_at?: number | null;
    /** `updated_at` as ISO 8601 */
    readonly updated_at_iso?: string | null;
  };
  readonly relationships?: {
    /** Its space */
    readonly space?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
    /** Its app; changed through its own path */
    readonly app?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
    /** Its events */
    readonly events?: {
      /** Addresses: `self`, and of lists `first` and `next` */
      readonly links: Readonly<Record<string, string | null>>;
    };
    /** The caller's role */
    readonly my_role?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
  };
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `ProjectsDocument` of the OpenAPI document. */
export interface ProjectsDocument {
  readonly data: Projects;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `ProjectsList` of the OpenAPI document. */
export interface ProjectsList {
  readonly data: readonly Projects[];
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `RequiredChallenges` of the OpenAPI document. */
export type RequiredChallenges = readonly string[];

/** `RewardEffects` of the OpenAPI document. */
export type RewardEffects = readonly ({
  readonly type: "metric";
  readonly metricId: string;
  readonly metricQuantity: number;
} | {
  readonly type: "inventory";
  readonly inventorySetId: string;
  readonly inventoryItemId: string;
} | {
  readonly type: "coupon";
  readonly couponId: string;
})[];

/** `RuleAmount` of the OpenAPI document. */
export type RuleAmount = number | LoyaltyCalculation;

/** `RuleCaps` of the OpenAPI document. */
export type RuleCaps = readonly {
  readonly metricId: string;
  readonly max: number;
  readonly window?: CountWindow;
}[];

/** `RuleEffects` of the OpenAPI document. */
export type RuleEffects = readonly ({
  readonly type: "metric";
  readonly metricId: string;
  readonly metricQuantity: RuleAmount;
  readonly user?: {
    readonly var: string;
  };
} | {
  readonly type: "inventory";
  readonly inventorySetId: string;
  readonly inventoryItemId: string;
  readonly user?: {
    readonly var: string;
  };
} | {
  readonly type: "coupon";
  readonly couponId: string;
  readonly user?: {
    readonly var: string;
  };
} | {
  readonly type: "reward";
  readonly rewardId: string;
  readonly user?: {
    readonly var: string;
  };
} | {
  readonly type: "inventoryLoss";
  readonly inventorySetId: string;
  readonly inventoryItemId: string;
} | {
  readonly type: "notification";
  readonly notification?: {
    readonly display?: string;
    readonly title?: string;
    readonly message?: string;
  };
} | {
  readonly type: "challengeStart";
  readonly challengeId: string;
} | {
  readonly type: "missionCompletion";
  readonly challengeId: string;
  readonly missionId: string;
} | {
  readonly type: "challengeCompletion";
  readonly challengeId: string;
} | {
  readonly type: "challengeFailure";
  readonly challengeId: string;
})[];

/** `RuleLimits` of the OpenAPI document. */
export type RuleLimits = readonly ({
  readonly per: "user";
  readonly by?: {
    readonly var: string;
  };
  readonly max: number;
  readonly window?: CountWindow;
} | {
  readonly per: "global";
  readonly max: number;
  readonly window?: {
    readonly calendar: "day" | "week" | "month" | "year";
  };
})[];

/** `RuleSchedule` of the OpenAPI document. */
export type RuleSchedule = readonly ({
  readonly days: readonly ("monday" | "tuesday" | "wednesday" | "thursday" | "friday" | "saturday" | "sunday")[];
  readonly from?: string;
  readonly to?: string;
})[];

/** `RuleTags` of the OpenAPI document. */
export type RuleTags = readonly string[];

/** `RuleTrigger` of the OpenAPI document. */
export type RuleTrigger = {
  readonly action: string;
} | {
  readonly metric: string;
} | {
  readonly challengeCompleted: string;
} | {
  readonly milestoneReached: string;
} | {
  readonly inventoryReceived: string;
};

/** `ScopeRoles` of the OpenAPI document. */
export interface ScopeRoles {
  readonly type: "scope_roles";
  readonly id: string;
  readonly attributes: {
    /** The role */
    readonly role?: "viewer" | "creator" | "admin";
    /** Address of the person, who need not have logged in before */
    readonly email?: string;
    /** When it was created, in Unix seconds */
    readonly created_at?: number | null;
    /** `created_at` as ISO 8601 */
    readonly created_at_iso?: string | null;
    /** When it was last changed, in Unix seconds */
    readonly updated_at?: number | null;
    /** `updated_at` as ISO 8601 */
    readonly updated_at_iso?: string | null;
  };
  readonly relationships?: {
    /** The person */
    readonly user?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
    /** Where the role counts: an organisation, space or project */
    readonly scope?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
  };
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `ScopeRolesDocument` of the OpenAPI document. */
export interface ScopeRolesDocument {
  readonly data: ScopeRoles;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `ScopeRolesList` of the OpenAPI document. */
export interface ScopeRolesList {
  readonly data: readonly ScopeRoles[];
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `SentLoyaltyConfiguration` of the OpenAPI document. */
export interface SentLoyaltyConfiguration {
  /** The configuration as a resource object: its attributes are the document */
  readonly data: {
    readonly type: "loyalty_configurations";
    readonly id?: string;
    readonly attributes: Readonly<Record<string, never>>;
  };
}

/** `Session` of the OpenAPI document. */
export interface Session {
  readonly data: {
    readonly type: "sessions";
    /** Id of the login */
    readonly id: string;
    readonly attributes: {
      /** The address as it was sent */
      readonly email: string;
      /** When the code ends, in Unix seconds */
      readonly expires_at: number;
    };
  };
}

/** `SessionCode` of the OpenAPI document. */
export interface SessionCode {
  /** Resource object of the login */
  readonly data: {
    readonly type: "sessions";
    readonly attributes: {
      /** The mailed code; whatever is no digit is left out */
      readonly code: string;
    };
  };
}

/** `Spaces` of the OpenAPI document. */
export interface Spaces {
  readonly type: "spaces";
  readonly id: string;
  readonly attributes: {
    /** Name */
    readonly name?: string;
    /** The Host under which fans reach the space; no two spaces have the same */
    readonly domain?: string | null;
    /** Settings of the platform's areas by section (leaderboards, location, identity, …), each checked by its area */
    readonly services?: Readonly<Record<string, unknown>>;
    /** Texts by key; a PATCH replaces the listed ones, null removes one */
    readonly annotations?: Readonly<Record<string, string>>;
    /** Addresses of the resource */
    readonly urls?: Readonly<Record<string, unknown>> | null;
    /** When it was created, in Unix seconds */
    readonly created_at?: number | null;
    /** `created_at` as ISO 8601 */
    readonly created_at_iso?: string | null;
    /** When it was last changed, in Unix seconds */
    readonly updated_at?: number | null;
    /** `updated_at` as ISO 8601 */
    readonly updated_at_iso?: string | null;
  };
  readonly relationships?: {
    /** Its organisation */
    readonly organisation?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
    /** Its projects */
    readonly projects?: {
      /** Addresses: `self`, and of lists `first` and `next` */
      readonly links: Readonly<Record<string, string | null>>;
    };
    /** Its apps */
    readonly apps?: {
      /** Addresses: `self`, and of lists `first` and `next` */
      readonly links: Readonly<Record<string, string | null>>;
    };
    /** The caller's role */
    readonly my_role?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
  };
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `SpacesDocument` of the OpenAPI document. */
export interface SpacesDocument {
  readonly data: Spaces;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `SpacesList` of the OpenAPI document. */
export interface SpacesList {
  readonly data: readonly Spaces[];
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `SpecChecks` of the OpenAPI document. */
export interface SpecChecks {
  readonly type: "spec_checks";
  readonly id: string;
  readonly attributes: {
    /** Address of `spec.json` */
    readonly spec_url?: string;
    /** Sent in place of our own, which names the authoring environment */
    readonly user_agent?: string | null;
    /** True if an app can be made of it */
    readonly passed?: boolean | null;
    /** Every step of each `file` (`check`) with its `result`: `pass`, `fail` or `skipped`; of a failed one `detail` and `pointer` into the file */
    readonly checks?: readonly Readonly<Record<string, unknown>>[] | null;
  };
  readonly relationships?: Readonly<Record<string, never>>;
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `SpecChecksDocument` of the OpenAPI document. */
export interface SpecChecksDocument {
  readonly data: SpecChecks;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `Tags` of the OpenAPI document. */
export interface Tags {
  readonly type: "tags";
  readonly id: string;
  readonly attributes: {
    /** Name, once in a space */
    readonly name?: string;
    /** When it was created, in Unix seconds */
    readonly created_at?: number | null;
    /** `created_at` as ISO 8601 */
    readonly created_at_iso?: string | null;
    /** When it was last changed, in Unix seconds */
    readonly updated_at?: number | null;
    /** `updated_at` as ISO 8601 */
    readonly updated_at_iso?: string | null;
  };
  readonly relationships?: {
    /** Its space */
    readonly space?: {
      readonly data: {
        readonly type: string;
        readonly id: string;
      } | null;
    };
  };
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `TagsDocument` of the OpenAPI document. */
export interface TagsDocument {
  readonly data: Tags;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `TagsList` of the OpenAPI document. */
export interface TagsList {
  readonly data: readonly Tags[];
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `Uploaders` of the OpenAPI document. */
export interface Uploaders {
  readonly data: readonly {
    readonly type: "users";
    /** What is counted */
    readonly id: string;
    readonly attributes: {
      /** Name of the person */
      readonly name: string;
      /** Number of assets */
      readonly count: number;
    };
  }[];
  readonly links: {
    readonly self: string;
  };
}

/** `Users` of the OpenAPI document. */
export interface Users {
  readonly type: "users";
  readonly id: string;
  readonly attributes: {
    /** Name */
    readonly name?: string | null;
    /** E-mail address */
    readonly email?: string | null;
    /** `operator`: runs the platform */
    readonly system_role?: "user" | "operator";
  };
  readonly relationships?: Readonly<Record<string, never>>;
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `UsersDocument` of the OpenAPI document. */
export interface UsersDocument {
  readonly data: Users;
  readonly included?: readonly IncludedResource[];
  /** Addresses: `self`, and of lists `first` and `next` */
  readonly links?: Readonly<Record<string, string | null>>;
  /** Facts about the answer */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** `WebhookDeadLetter` of the OpenAPI document. */
export interface WebhookDeadLetter {
  readonly type: "webhook_dead_letters";
  readonly id: string;
  readonly attributes: {
    readonly message_id: string;
    readonly message_type: string;
    /** Unix time in seconds */
    readonly happened_at: number;
    readonly data: WebhookTransactionMessage | Readonly<Record<string, unknown>>;
    readonly attempts: number;
    readonly reason: string;
    /** Unix time in seconds */
    readonly dead_at: number;
  };
}

/** `WebhookDeadLetterIds` of the OpenAPI document. */
export interface WebhookDeadLetterIds {
  /** Ids of the dead letters to send again */
  readonly ids: readonly string[];
}

/** `WebhookDeadLettersDocument` of the OpenAPI document. */
export interface WebhookDeadLettersDocument {
  readonly data: readonly WebhookDeadLetter[];
  readonly meta: {
    readonly total: number;
  };
}

/** `WebhookEvents` of the OpenAPI document. */
export type WebhookEvents = readonly ("actionRewarded" | "missionCompleted" | "challengeStarted" | "challengeCompleted" | "challengeFailed" | "milestoneReached" | "milestoneLost" | "couponReceived" | "pointsExpired" | "pointsExpiring" | "pointsActivated" | "rewardGranted" | "rewardRefused" | "adjusted" | "reversed" | "redeemed" | "redemptionConfirmed" | "redemptionRejected" | "redemptionCompleted" | "redemptionRefunded" | "exportCompleted" | "exportFailed" | "codePoolLow" | "codePoolEmpty")[];

/** `WebhookReplay` of the OpenAPI document. */
export interface WebhookReplay {
  readonly type: "webhook_replays";
  readonly id: string;
  readonly attributes: {
    readonly replayed: readonly string[];
    readonly not_found: readonly string[];
  };
}

/** `WebhookReplayDocument` of the OpenAPI document. */
export interface WebhookReplayDocument {
  readonly data: WebhookReplay;
}

/** `WebhookTransactionMessage` of the OpenAPI document. */
export interface WebhookTransactionMessage {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly userId: string;
  readonly transaction: LoyaltyTransaction;
}

/** Operations of the area control. */
export interface ControlOperations {
  /** Read the current user. Answers the person whose token the request has. `meta.token` says what the token is for: its `kind`, the address of the backend that the token of a dialogue is for (`audience`; null: no particular one), its `scopes` (null: everywhere) and its `role_cap`. A backend refuses the token of a dialogue whose `audience` is another address. */
  readMe(input?: NoInput, options?: CallOptions): Answer<Users, UsersDocument>;

  /** Read the caller's role in the organisation. Answers `none` where the caller has no role, and for an unknown id as well. */
  readMyRoleInOrganisation(input: {
    /** Id of the organisation */
    readonly organisationId: string;
  }, options?: CallOptions): Answer<MyRole["data"], MyRole>;

  /** Read the caller's role in the space. Answers `none` where the caller has no role, and for an unknown id as well. */
  readMyRoleInSpace(input: {
    /** Id of the space */
    readonly spaceId: string;
  }, options?: CallOptions): Answer<MyRole["data"], MyRole>;

  /** Read the caller's role in the project. Answers `none` where the caller has no role, and for an unknown id as well. */
  readMyRoleInProject(input: {
    /** Id of the project */
    readonly projectId: string;
  }, options?: CallOptions): Answer<MyRole["data"], MyRole>;

  /** List your access tokens. Lists the live tokens of the caller, oldest first, without their secrets. */
  listAccessTokens(input?: NoInput, options?: CallOptions): Answer<readonly AccessTokens[], AccessTokensList>;

  /** Create an access token. Creates a token of the caller. Only this answer has the token itself. It can do no more than the token of the request. A token of the kind `dialogue` is for the backend of a workflow: it has one scope, which may be an event, and the caller's role there at most, names the backend as its `audience`, ends after ten minutes or with the token of the request, is in no list, and cannot create, list or revoke tokens, grant roles, dispatch, or serve in place of an API key. */
  createAccessToken(input: {
    readonly body: NewAccessTokens;
  }, options?: CallOptions): Answer<AccessTokens, AccessTokensDocument>;

  /** Revoke an access token. Ends a token of the caller, within a second everywhere. */
  revokeAccessToken(input: {
    /** Id of the token */
    readonly accessTokenId: string;
  }, options?: CallOptions): Answer<undefined>;

  /** Begin a login. Mails a code to an authoring user, for 10 minutes. The answer is the same for unknown addresses. */
  createSession(input: {
    readonly body: NewSession;
  }, options?: CallOptions): Answer<Session["data"], Session>;

  /** Complete a login. Takes the mailed code, once, and answers with an access token for 30 days. */
  verifySession(input: {
    /** Id of the login */
    readonly sessionId: string;
    readonly body: SessionCode;
  }, options?: CallOptions): Answer<AccessTokens, AccessTokensDocument>;

  /** List the changes of an organisation. Lists the newest 10000 changes, newest first: what was changed, by whom, and by which token. Needs the role admin. */
  listOrganisationChanges(input: {
    /** Id of the organisation */
    readonly organisationId: string;
    /** Names of the shown attributes and relationships of audit_entries */
    readonly "fields[audit_entries]"?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<AuditEntries, AuditEntriesList>;

  /** List the changes of a space. Lists the newest 10000 changes, newest first: what was changed, by whom, and by which token. Needs the role admin. */
  listSpaceChanges(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Names of the shown attributes and relationships of audit_entries */
    readonly "fields[audit_entries]"?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<AuditEntries, AuditEntriesList>;

  /** List the changes of a project. Lists the newest 10000 changes, newest first: what was changed, by whom, and by which token. Needs the role admin. */
  listProjectChanges(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Names of the shown attributes and relationships of audit_entries */
    readonly "fields[audit_entries]"?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<AuditEntries, AuditEntriesList>;

  /** Read the figures of the process. Answers the metrics of the process that serves the request; other processes have their own. For operators. */
  readProcess(input?: NoInput, options?: CallOptions): Answer<Process["data"], Process>;

  /** List the organisations with dead letters. Counts actions that could not be applied, of the 500 oldest organisations; those without any are left out. For operators. */
  listDeadLetterCounts(input?: NoInput, options?: CallOptions): Answer<DeadLetterCounts["data"], DeadLetterCounts>;

  /** List the organisations that you may see. A customer of the platform, which owns spaces. Needs the role viewer. */
  listOrganisations(input?: {
    /** Related resources: my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** One of name, created_at; with `-` in front the highest first */
    readonly sort?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<Organisations, OrganisationsList>;

  /** Create an organisation. A customer of the platform, which owns spaces. Creating one needs the role admin. */
  createOrganisation(input: {
    /** Related resources: my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: NewOrganisations;
  }, options?: CallOptions): Answer<Organisations, OrganisationsDocument>;

  /** Read an organisation. A customer of the platform, which owns spaces. Needs the role viewer. */
  readOrganisation(input: {
    /** Id of the organisation */
    readonly organisationId: string;
    /** Related resources: my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
  }, options?: CallOptions): Answer<Organisations, OrganisationsDocument>;

  /** Change an organisation. Changes what the body names and leaves the rest. Needs the role admin. Answers 204, or 200 with the organisation where `Accept` names application/vnd.api+json. */
  changeOrganisation(input: {
    /** Id of the organisation */
    readonly organisationId: string;
    /** Related resources: my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedOrganisations;
  }, options?: CallOptions): Answer<Organisations | undefined, OrganisationsDocument>;

  /** Read the annotations of one organisation. A customer of the platform, which owns spaces. Needs the role viewer. */
  readOrganisationAnnotations(input: {
    /** Id of the organisation */
    readonly organisationId: string;
  }, options?: CallOptions): Answer<Organisations, OrganisationsDocument>;

  /** Change annotations of one organisation. Sets the annotations that the body names, removes those that are null, and leaves the rest. Needs the role admin. */
  changeOrganisationAnnotations(input: {
    /** Id of the organisation */
    readonly organisationId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedOrganisations;
  }, options?: CallOptions): Answer<Organisations | undefined, OrganisationsDocument>;

  /** List the spaces of an organisation. A domain with one audience and one loyalty configuration. Needs the role viewer. */
  listOrganisationSpaces(input: {
    /** Id of the organisation */
    readonly organisationId: string;
    /** Related resources: organisation, organisation.my_role, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** One of name, created_at; with `-` in front the highest first */
    readonly sort?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<Spaces, SpacesList>;

  /** Read a space. A domain with one audience and one loyalty configuration. Needs the role viewer. */
  readSpace(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Related resources: organisation, organisation.my_role, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
  }, options?: CallOptions): Answer<Spaces, SpacesDocument>;

  /** Change a space. Changes what the body names and leaves the rest. Needs the role admin. Answers 204, or 200 with the space where `Accept` names application/vnd.api+json. */
  changeSpace(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Related resources: organisation, organisation.my_role, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedSpaces;
  }, options?: CallOptions): Answer<Spaces | undefined, SpacesDocument>;

  /** Create a space. A domain with one audience and one loyalty configuration. Creating one needs the role admin. */
  createSpace(input: {
    /** Related resources: organisation, organisation.my_role, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: NewSpaces;
  }, options?: CallOptions): Answer<Spaces, SpacesDocument>;

  /** Read the annotations of one space. A domain with one audience and one loyalty configuration. Needs the role viewer. */
  readSpaceAnnotations(input: {
    /** Id of the space */
    readonly spaceId: string;
  }, options?: CallOptions): Answer<Spaces, SpacesDocument>;

  /** Change annotations of one space. Sets the annotations that the body names, removes those that are null, and leaves the rest. Needs the role admin. */
  changeSpaceAnnotations(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedSpaces;
  }, options?: CallOptions): Answer<Spaces | undefined, SpacesDocument>;

  /** List the projects of a space. One app or site as fans see it, with users, boards and events. Needs the role viewer. */
  listSpaceProjects(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Related resources: space, space.my_role, space.organisation, space.organisation.my_role, app, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of apps */
    readonly "fields[apps]"?: string;
    /** One of name, created_at; with `-` in front the highest first */
    readonly sort?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<Projects, ProjectsList>;

  /** Read a project. One app or site as fans see it, with users, boards and events. Needs the role viewer. */
  readProject(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Related resources: space, space.my_role, space.organisation, space.organisation.my_role, app, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of apps */
    readonly "fields[apps]"?: string;
  }, options?: CallOptions): Answer<Projects, ProjectsDocument>;

  /** Change a project. Changes what the body names and leaves the rest. Needs the role admin. Answers 204, or 200 with the project where `Accept` names application/vnd.api+json. */
  changeProject(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Related resources: space, space.my_role, space.organisation, space.organisation.my_role, app, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of apps */
    readonly "fields[apps]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedProjects;
  }, options?: CallOptions): Answer<Projects | undefined, ProjectsDocument>;

  /** Create a project. One app or site as fans see it, with users, boards and events. Creating one needs the role admin. */
  createProject(input: {
    /** Related resources: space, space.my_role, space.organisation, space.organisation.my_role, app, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of apps */
    readonly "fields[apps]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: NewProjects;
  }, options?: CallOptions): Answer<Projects, ProjectsDocument>;

  /** Read the annotations of one project. One app or site as fans see it, with users, boards and events. Needs the role viewer. */
  readProjectAnnotations(input: {
    /** Id of the project */
    readonly projectId: string;
  }, options?: CallOptions): Answer<Projects, ProjectsDocument>;

  /** Change annotations of one project. Sets the annotations that the body names, removes those that are null, and leaves the rest. Needs the role admin. */
  changeProjectAnnotations(input: {
    /** Id of the project */
    readonly projectId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedProjects;
  }, options?: CallOptions): Answer<Projects | undefined, ProjectsDocument>;

  /** List the apps of a space. One version of an app: what its specification said when it was registered. It never changes. Needs the role viewer. */
  listSpaceApps(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Related resources: space */
    readonly include?: string;
    /** Names of the shown attributes and relationships of apps */
    readonly "fields[apps]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** One of created_at; with `-` in front the highest first */
    readonly sort?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<Apps, AppsList>;

  /** Read an app. One version of an app: what its specification said when it was registered. It never changes. Needs the role viewer. */
  readApp(input: {
    /** Id of the app */
    readonly appId: string;
    /** Related resources: space */
    readonly include?: string;
    /** Names of the shown attributes and relationships of apps */
    readonly "fields[apps]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
  }, options?: CallOptions): Answer<Apps, AppsDocument>;

  /** Remove an app. Needs the role admin. */
  removeApp(input: {
    /** Id of the app */
    readonly appId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
  }, options?: CallOptions): Answer<undefined>;

  /** Create an app. One version of an app: what its specification said when it was registered. It never changes. Creating one needs the role admin. */
  createApp(input: {
    /** Related resources: space */
    readonly include?: string;
    /** Names of the shown attributes and relationships of apps */
    readonly "fields[apps]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: NewApps;
  }, options?: CallOptions): Answer<Apps, AppsDocument>;

  /** List the events of a project. A show or match of a project. Its state follows from its record and the clock. Needs the role viewer. */
  listProjectEvents(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Related resources: project.app, project, project.my_role, project.space, project.space.my_role, project.space.organisation, project.space.organisation.my_role, stats, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of events */
    readonly "fields[events]"?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of apps */
    readonly "fields[apps]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of stats */
    readonly "fields[stats]"?: string;
    /** One of start_at, start_time, created_at; with `-` in front the highest first */
    readonly sort?: string;
    /** Only events with this state */
    readonly "filter[state]"?: string;
    /** Only events with this only listings */
    readonly "filter[only_listings]"?: "true" | "false";
    /** Only events with this before */
    readonly "filter[before]"?: string;
    /** Only events with this annotation */
    readonly "filter[annotation]"?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<Events, EventsList>;

  /** Read an event. A show or match of a project. Its state follows from its record and the clock. Needs the role viewer. */
  readEvent(input: {
    /** Id of the event */
    readonly eventId: string;
    /** Related resources: project.app, project, project.my_role, project.space, project.space.my_role, project.space.organisation, project.space.organisation.my_role, stats, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of events */
    readonly "fields[events]"?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of apps */
    readonly "fields[apps]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of stats */
    readonly "fields[stats]"?: string;
  }, options?: CallOptions): Answer<Events, EventsDocument>;

  /** Change an event. Changes what the body names and leaves the rest. Needs the role creator. Answers 204, or 200 with the event where `Accept` names application/vnd.api+json. */
  changeEvent(input: {
    /** Id of the event */
    readonly eventId: string;
    /** Related resources: project.app, project, project.my_role, project.space, project.space.my_role, project.space.organisation, project.space.organisation.my_role, stats, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of events */
    readonly "fields[events]"?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of apps */
    readonly "fields[apps]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of stats */
    readonly "fields[stats]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedEvents;
  }, options?: CallOptions): Answer<Events | undefined, EventsDocument>;

  /** Remove an event. Needs the role creator. */
  removeEvent(input: {
    /** Id of the event */
    readonly eventId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
  }, options?: CallOptions): Answer<undefined>;

  /** Create an event. A show or match of a project. Its state follows from its record and the clock. Creating one needs the role creator. */
  createEvent(input: {
    /** Related resources: project.app, project, project.my_role, project.space, project.space.my_role, project.space.organisation, project.space.organisation.my_role, stats, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of events */
    readonly "fields[events]"?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of apps */
    readonly "fields[apps]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of stats */
    readonly "fields[stats]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: NewEvents;
  }, options?: CallOptions): Answer<Events, EventsDocument>;

  /** Read the annotations of one event. A show or match of a project. Its state follows from its record and the clock. Needs the role viewer. */
  readEventAnnotations(input: {
    /** Id of the event */
    readonly eventId: string;
  }, options?: CallOptions): Answer<Events, EventsDocument>;

  /** Change annotations of one event. Sets the annotations that the body names, removes those that are null, and leaves the rest. Needs the role creator. */
  changeEventAnnotations(input: {
    /** Id of the event */
    readonly eventId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedEvents;
  }, options?: CallOptions): Answer<Events | undefined, EventsDocument>;

  /** Read the caller's role in the event. Answers `none` where the caller has no role, and for an unknown id as well. The role is that in the project of the event. */
  readMyRoleInEvent(input: {
    /** Id of the event */
    readonly eventId: string;
  }, options?: CallOptions): Answer<MyRole["data"], MyRole>;

  /** Change the elements of an event. Takes all of them, in order. Needs the role creator. */
  changeEventElements(input: {
    /** Id of the event */
    readonly eventId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: EventElements;
  }, options?: CallOptions): Answer<undefined>;

  /** List the event templates of a project. A blueprint of events with their elements. Needs the role viewer. */
  listProjectEventTemplates(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Related resources: project, project.my_role, project.space, project.space.my_role, project.space.organisation, project.space.organisation.my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of event_templates */
    readonly "fields[event_templates]"?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** One of name, created_at; with `-` in front the highest first */
    readonly sort?: string;
    /** Only event templates with this annotation */
    readonly "filter[annotation]"?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<EventTemplates, EventTemplatesList>;

  /** Read an event template. A blueprint of events with their elements. Needs the role viewer. */
  readEventTemplate(input: {
    /** Id of the event template */
    readonly eventTemplateId: string;
    /** Related resources: project, project.my_role, project.space, project.space.my_role, project.space.organisation, project.space.organisation.my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of event_templates */
    readonly "fields[event_templates]"?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
  }, options?: CallOptions): Answer<EventTemplates, EventTemplatesDocument>;

  /** Change an event template. Changes what the body names and leaves the rest. Needs the role creator. Answers 204, or 200 with the event template where `Accept` names application/vnd.api+json. */
  changeEventTemplate(input: {
    /** Id of the event template */
    readonly eventTemplateId: string;
    /** Related resources: project, project.my_role, project.space, project.space.my_role, project.space.organisation, project.space.organisation.my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of event_templates */
    readonly "fields[event_templates]"?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedEventTemplates;
  }, options?: CallOptions): Answer<EventTemplates | undefined, EventTemplatesDocument>;

  /** Remove an event template. Needs the role creator. */
  removeEventTemplate(input: {
    /** Id of the event template */
    readonly eventTemplateId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
  }, options?: CallOptions): Answer<undefined>;

  /** Create an event template. A blueprint of events with their elements. Creating one needs the role creator. */
  createEventTemplate(input: {
    /** Related resources: project, project.my_role, project.space, project.space.my_role, project.space.organisation, project.space.organisation.my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of event_templates */
    readonly "fields[event_templates]"?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: NewEventTemplates;
  }, options?: CallOptions): Answer<EventTemplates, EventTemplatesDocument>;

  /** Read the annotations of one event template. A blueprint of events with their elements. Needs the role viewer. */
  readEventTemplateAnnotations(input: {
    /** Id of the event template */
    readonly eventTemplateId: string;
  }, options?: CallOptions): Answer<EventTemplates, EventTemplatesDocument>;

  /** Change annotations of one event template. Sets the annotations that the body names, removes those that are null, and leaves the rest. Needs the role creator. */
  changeEventTemplateAnnotations(input: {
    /** Id of the event template */
    readonly eventTemplateId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedEventTemplates;
  }, options?: CallOptions): Answer<EventTemplates | undefined, EventTemplatesDocument>;

  /** List the elements of an event. Something that an event puts on screens: a poll, a quiz, a message. Its state follows from its record, its event and the clock. Needs the role viewer. */
  listEventElements(input: {
    /** Id of the event */
    readonly eventId: string;
    /** Related resources: event, event.project, event.project.my_role, event.project.space, event.project.space.my_role, event.project.space.organisation, event.project.space.organisation.my_role, stats, parent, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of elements */
    readonly "fields[elements]"?: string;
    /** Names of the shown attributes and relationships of events */
    readonly "fields[events]"?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of stats */
    readonly "fields[stats]"?: string;
    /** One of position, published_at, created_at; with `-` in front the highest first */
    readonly sort?: string;
    /** Only elements with this state */
    readonly "filter[state]"?: string;
    /** Only elements with this include in latest results */
    readonly "filter[include_in_latest_results]"?: "true" | "false";
    /** Only elements with this content type */
    readonly "filter[content_type]"?: string;
    /** Only elements with this annotation */
    readonly "filter[annotation]"?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<Elements, ElementsList>;

  /** Read an element. Something that an event puts on screens: a poll, a quiz, a message. Its state follows from its record, its event and the clock. Needs the role viewer. */
  readElement(input: {
    /** Id of the element */
    readonly elementId: string;
    /** Related resources: event, event.project, event.project.my_role, event.project.space, event.project.space.my_role, event.project.space.organisation, event.project.space.organisation.my_role, stats, parent, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of elements */
    readonly "fields[elements]"?: string;
    /** Names of the shown attributes and relationships of events */
    readonly "fields[events]"?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of stats */
    readonly "fields[stats]"?: string;
  }, options?: CallOptions): Answer<Elements, ElementsDocument>;

  /** Change an element. Changes what the body names and leaves the rest. Needs the role creator. Answers 204, or 200 with the element where `Accept` names application/vnd.api+json. */
  changeElement(input: {
    /** Id of the element */
    readonly elementId: string;
    /** Related resources: event, event.project, event.project.my_role, event.project.space, event.project.space.my_role, event.project.space.organisation, event.project.space.organisation.my_role, stats, parent, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of elements */
    readonly "fields[elements]"?: string;
    /** Names of the shown attributes and relationships of events */
    readonly "fields[events]"?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of stats */
    readonly "fields[stats]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedElements;
  }, options?: CallOptions): Answer<Elements | undefined, ElementsDocument>;

  /** Remove an element. Needs the role creator. */
  removeElement(input: {
    /** Id of the element */
    readonly elementId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
  }, options?: CallOptions): Answer<undefined>;

  /** Create an element. Something that an event puts on screens: a poll, a quiz, a message. Its state follows from its record, its event and the clock. Creating one needs the role creator. */
  createElement(input: {
    /** Related resources: event, event.project, event.project.my_role, event.project.space, event.project.space.my_role, event.project.space.organisation, event.project.space.organisation.my_role, stats, parent, my_role */
    readonly include?: string;
    /** Names of the shown attributes and relationships of elements */
    readonly "fields[elements]"?: string;
    /** Names of the shown attributes and relationships of events */
    readonly "fields[events]"?: string;
    /** Names of the shown attributes and relationships of projects */
    readonly "fields[projects]"?: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of organisations */
    readonly "fields[organisations]"?: string;
    /** Names of the shown attributes and relationships of stats */
    readonly "fields[stats]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: NewElements;
  }, options?: CallOptions): Answer<Elements, ElementsDocument>;

  /** Read the annotations of one element. Something that an event puts on screens: a poll, a quiz, a message. Its state follows from its record, its event and the clock. Needs the role viewer. */
  readElementAnnotations(input: {
    /** Id of the element */
    readonly elementId: string;
  }, options?: CallOptions): Answer<Elements, ElementsDocument>;

  /** Change annotations of one element. Sets the annotations that the body names, removes those that are null, and leaves the rest. Needs the role creator. */
  changeElementAnnotations(input: {
    /** Id of the element */
    readonly elementId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedElements;
  }, options?: CallOptions): Answer<Elements | undefined, ElementsDocument>;

  /** Read the caller's role in the element. Answers `none` where the caller has no role, and for an unknown id as well. The role is that in the project of the element. */
  readMyRoleInElement(input: {
    /** Id of the element */
    readonly elementId: string;
  }, options?: CallOptions): Answer<MyRole["data"], MyRole>;

  /** List the assets of a space. A file of a space with a public address. Needs the role viewer. */
  listSpaceAssets(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Related resources: space, tags, uploader */
    readonly include?: string;
    /** Names of the shown attributes and relationships of assets */
    readonly "fields[assets]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of tags */
    readonly "fields[tags]"?: string;
    /** Names of the shown attributes and relationships of users */
    readonly "fields[users]"?: string;
    /** One of created_at; with `-` in front the highest first */
    readonly sort?: string;
    /** Only assets with this mime */
    readonly "filter[mime]"?: string;
    /** Only assets with this tag */
    readonly "filter[tag]"?: string;
    /** Only assets with this uploader */
    readonly "filter[uploader]"?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
    /** Number of the page, in place of a cursor */
    readonly "page[number]"?: number;
  }, options?: CallOptions): List<Assets, AssetsList>;

  /** Upload a file. The body is the file; its media type is found in its contents. The position of a photo (JPEG, PNG, WebP, HEIC, AVIF) is removed, and SVG is stored in UTF-8, so that `bytes` and `sha256` may differ from those of the file sent. A file that the space has already is not stored again: the answer is 200 with its asset. Needs the role creator. */
  uploadAsset(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Name of the file; needed unless `url` ends with one */
    readonly name?: string;
    /** The https address of the file, in place of a body. The platform reads it */
    readonly url?: string;
    /** Ids of its tags, separated by commas */
    readonly tag?: string;
    readonly body: RawBody;
  }, options?: CallOptions): Answer<Assets, AssetsDocument>;

  /** Read an asset. A file of a space with a public address. Needs the role viewer. */
  readAsset(input: {
    /** Id of the asset */
    readonly assetId: string;
    /** Related resources: space, tags, uploader */
    readonly include?: string;
    /** Names of the shown attributes and relationships of assets */
    readonly "fields[assets]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of tags */
    readonly "fields[tags]"?: string;
    /** Names of the shown attributes and relationships of users */
    readonly "fields[users]"?: string;
  }, options?: CallOptions): Answer<Assets, AssetsDocument>;

  /** Change an asset. Changes what the body names and leaves the rest. Needs the role creator. Answers 204, or 200 with the asset where `Accept` names application/vnd.api+json. */
  changeAsset(input: {
    /** Id of the asset */
    readonly assetId: string;
    /** Related resources: space, tags, uploader */
    readonly include?: string;
    /** Names of the shown attributes and relationships of assets */
    readonly "fields[assets]"?: string;
    /** Names of the shown attributes and relationships of spaces */
    readonly "fields[spaces]"?: string;
    /** Names of the shown attributes and relationships of tags */
    readonly "fields[tags]"?: string;
    /** Names of the shown attributes and relationships of users */
    readonly "fields[users]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedAssets;
  }, options?: CallOptions): Answer<Assets | undefined, AssetsDocument>;

  /** Remove an asset. Needs the role creator. */
  removeAsset(input: {
    /** Id of the asset */
    readonly assetId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
  }, options?: CallOptions): Answer<undefined>;

  /** Add tags to an asset. Those that it has already are no fault. Needs the role creator. */
  addAssetTags(input: {
    /** Id of the asset */
    readonly assetId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: AssetTags;
  }, options?: CallOptions): Answer<undefined>;

  /** Take tags off an asset. Those that it has not are no fault. Needs the role creator. */
  removeAssetTags(input: {
    /** Id of the asset */
    readonly assetId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: AssetTags;
  }, options?: CallOptions): Answer<undefined>;

  /** List the tags of a space. A label of assets. Needs the role viewer. */
  listSpaceTags(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Names of the shown attributes and relationships of tags */
    readonly "fields[tags]"?: string;
    /** One of name; with `-` in front the highest first */
    readonly sort?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<Tags, TagsList>;

  /** Create a tag. A label of assets. Creating one needs the role creator. */
  createTag(input: {
    /** Names of the shown attributes and relationships of tags */
    readonly "fields[tags]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: NewTags;
  }, options?: CallOptions): Answer<Tags, TagsDocument>;

  /** List the scope roles of an organisation. The role of a person in an organisation, space or project. Roles are inherited downward. Needs the role admin. */
  listOrganisationRoles(input: {
    /** Id of the organisation */
    readonly organisationId: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** One of created_at; with `-` in front the highest first */
    readonly sort?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<ScopeRoles, ScopeRolesList>;

  /** Create a role. The role of a person in an organisation, space or project. Roles are inherited downward. Creating one needs the role admin. */
  createOrganisationScopeRole(input: {
    /** Id of the organisation */
    readonly organisationId: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: NewScopeRoles;
  }, options?: CallOptions): Answer<ScopeRoles, ScopeRolesDocument>;

  /** List the scope roles of a space. The role of a person in an organisation, space or project. Roles are inherited downward. Needs the role admin. */
  listSpaceRoles(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** One of created_at; with `-` in front the highest first */
    readonly sort?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<ScopeRoles, ScopeRolesList>;

  /** Create a role. The role of a person in an organisation, space or project. Roles are inherited downward. Creating one needs the role admin. */
  createSpaceScopeRole(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: NewScopeRoles;
  }, options?: CallOptions): Answer<ScopeRoles, ScopeRolesDocument>;

  /** List the scope roles of a project. The role of a person in an organisation, space or project. Roles are inherited downward. Needs the role admin. */
  listProjectRoles(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** One of created_at; with `-` in front the highest first */
    readonly sort?: string;
    /** Entries of the page */
    readonly "page[count]"?: number;
    /** The cursor in `links.next` of the page before */
    readonly "page[cursor]"?: string;
  }, options?: CallOptions): List<ScopeRoles, ScopeRolesList>;

  /** Create a role. The role of a person in an organisation, space or project. Roles are inherited downward. Creating one needs the role admin. */
  createProjectScopeRole(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: NewScopeRoles;
  }, options?: CallOptions): Answer<ScopeRoles, ScopeRolesDocument>;

  /** Change a role. Changes what the body names and leaves the rest. Needs the role admin. Answers 204, or 200 with the role where `Accept` names application/vnd.api+json. */
  changeScopeRole(input: {
    /** Id of the role */
    readonly scopeRoleId: string;
    /** Names of the shown attributes and relationships of scope_roles */
    readonly "fields[scope_roles]"?: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: ChangedScopeRoles;
  }, options?: CallOptions): Answer<ScopeRoles | undefined, ScopeRolesDocument>;

  /** Remove a role. Needs the role admin. */
  removeScopeRole(input: {
    /** Id of the role */
    readonly scopeRoleId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
  }, options?: CallOptions): Answer<undefined>;

  /** Check the address of an app. Reads `spec.json` and the `elements.json` beside it as the creation of an app does, and answers the outcome of every step. Keeps nothing. */
  validateSpecUrl(input: {
    readonly body: NewSpecChecks;
  }, options?: CallOptions): Answer<SpecChecks, SpecChecksDocument>;

  /** List the content types of a project. A type of elements that the app of a project has. Lists all types of the app in its order; the id of each is its `content_type`. Needs the role viewer. */
  listProjectContentTypes(input: {
    /** Id of the project */
    readonly projectId: string;
  }, options?: CallOptions): Answer<readonly ContentTypes[], ContentTypesList>;

  /** Read a content type of a project. A type of elements that the app of a project has. Needs the role viewer. */
  readProjectContentType(input: {
    /** Id of the project */
    readonly projectId: string;
    /** The `content_type` */
    readonly contentType: string;
  }, options?: CallOptions): Answer<ContentTypes, ContentTypesDocument>;

  /** Move a project to another app. Makes the project use another app of its space. Answers 409 with `types` while elements of events or event templates have content types that the other app lacks, unless `force` is `true`; such elements cannot be published then. Needs the role admin. */
  changeProjectApp(input: {
    /** Id of the project */
    readonly projectId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    /** With `dry_run`: tries what this address has now, in place of the app of the body */
    readonly spec_url?: string;
    /** `true`: moves the project although elements lose their content type */
    readonly force?: "true" | "false";
    readonly body: AppOfProject;
  }, options?: CallOptions): Answer<AppMoveDocument["data"] | undefined, AppMoveDocument>;

  /** Read spec.json of the catalogue. A file of the app that the platform has itself. Its content types suit most shows. */
  readCatalogueSpec(input?: NoInput, options?: CallOptions): Answer<CatalogueSpec>;

  /** Read elements.json of the catalogue. A file of the app that the platform has itself. Its content types suit most shows. */
  readCatalogueElements(input?: NoInput, options?: CallOptions): Answer<CatalogueElements>;

  /** List the media types in use. Media types of the assets of the space, the most frequent first. Needs the role viewer. */
  listSpaceMediaTypes(input: {
    /** Id of the space */
    readonly spaceId: string;
  }, options?: CallOptions): Answer<MediaTypesInUse["data"], MediaTypesInUse>;

  /** List who has uploaded. People who uploaded assets of the space, the busiest first. Needs the role viewer. */
  listSpaceUploaders(input: {
    /** Id of the space */
    readonly spaceId: string;
  }, options?: CallOptions): Answer<Uploaders["data"], Uploaders>;

  /** Read the file of an asset, or a range of its bytes. The public address of an asset. Its contents never change, so that everybody may keep them. Supports one `Range`, `If-Range`, `If-Match` and `If-None-Match`. */
  readAssetFile(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Digest of the file, in hexadecimal digits */
    readonly sha256: string;
    /** The name under which a browser saves it */
    readonly name: string;
  }, options?: CallOptions): Answer<Response>;

  /** Make many changes at once. Makes up to 500 changes, or none of them. All records belong to one project, space or organisation. An operation may name records that an earlier one creates by their `lid`, in relationships and as `{"lid": …}` in attributes. A `lid` that is a UUID stands for the id inside texts of attributes as well. */
  makeOperations(input: {
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: Operations;
  }, options?: CallOptions): Answer<OperationResults>;

  /** Clone an event. Copies an event with its elements, which are drafts then. The copy is a manual event without times. What mentions the event or its elements mentions the copies. Needs the role creator. */
  cloneEvent(input: {
    /** Id of the event */
    readonly eventId: string;
    /** `true`: checks everything and writes nothing */
    readonly dry_run?: "true" | "false";
    readonly body: EventClone;
  }, options?: CallOptions): Answer<Events, EventsDocument>;

  /** Get the loyalty configuration of a space. Returns the document as it was written. */
  getLoyaltyConfiguration(input: {
    /** Id of the space */
    readonly spaceId: string;
  }, options?: CallOptions): Answer<LoyaltyConfiguration["data"], LoyaltyConfiguration>;

  /** Replace the loyalty configuration of a space. `If-Match` names the version that is replaced. */
  putLoyaltyConfiguration(input: {
    /** Id of the space */
    readonly spaceId: string;
    readonly body: LoyaltyConfigurationChange;
  }, options?: CallOptions): Answer<LoyaltyConfiguration["data"], LoyaltyConfiguration>;

  /** List the versions of a space's loyalty configuration. Newest first, as far as they are kept. */
  listLoyaltyVersions(input: {
    /** Id of the space */
    readonly spaceId: string;
  }, options?: CallOptions): Answer<readonly LoyaltyVersion[], LoyaltyVersionsDocument>;

  /** Get a version of a space's loyalty configuration. Returns the version with its document. */
  getLoyaltyVersion(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Number of the version */
    readonly version: number;
  }, options?: CallOptions): Answer<LoyaltyVersion, LoyaltyVersionDocument>;

  /** Roll back to an earlier version. Makes the document of the earlier version a new version; `If-Match` is honoured. */
  rollBackLoyaltyConfiguration(input: {
    /** Id of the space */
    readonly spaceId: string;
    readonly body: LoyaltyRollback;
  }, options?: CallOptions): Answer<LoyaltyConfiguration["data"], LoyaltyConfiguration>;

  /** List the webhooks of a space. Returns the webhooks of the loyalty configuration with their health. */
  listLoyaltyWebhooks(input: {
    /** Id of the space */
    readonly spaceId: string;
  }, options?: CallOptions): Answer<readonly LoyaltyWebhook[], LoyaltyWebhooksDocument>;

  /** Get a webhook with its secret. Returns the webhook, its health, and the secret with which its receiver verifies messages. */
  getLoyaltyWebhook(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Id of the webhook */
    readonly webhookId: string;
  }, options?: CallOptions): Answer<LoyaltyWebhook, LoyaltyWebhookDocument>;

  /** Enable a disabled webhook. What the webhook missed is among its dead letters: replay them afterwards. */
  enableLoyaltyWebhook(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Id of the webhook */
    readonly webhookId: string;
  }, options?: CallOptions): Answer<LoyaltyWebhook, LoyaltyWebhookDocument>;

  /** List the dead letters of a webhook. Newest first. A message that was given up is kept for 14 days. */
  listDeadWebhookLetters(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Id of the webhook */
    readonly webhookId: string;
    /** Most dead letters */
    readonly limit?: number;
    /** Number of dead letters to skip */
    readonly offset?: number;
  }, options?: CallOptions): List<WebhookDeadLetter, WebhookDeadLettersDocument>;

  /** Replay dead letters. Sends the messages again, in the background and under the same ids. */
  replayDeadWebhookLetters(input: {
    /** Id of the space */
    readonly spaceId: string;
    /** Id of the webhook */
    readonly webhookId: string;
    readonly body: WebhookDeadLetterIds;
  }, options?: CallOptions): Answer<WebhookReplay, WebhookReplayDocument>;

  /** Get the JSON Schema of loyalty configurations. For editors that check a configuration file while it is written. */
  getLoyaltySchema(input?: NoInput, options?: CallOptions): Answer<JsonSchema>;

  /** List the API keys of an organisation. Lists the keys of an organisation without their secrets, oldest first. */
  listApiKeys(input: {
    /** Id of the organisation */
    readonly organisationId: string;
  }, options?: CallOptions): Answer<readonly ApiKey[], ApiKeysDocument>;

  /** Create an API key. Creates a key. Only this answer carries its secret. */
  createApiKey(input: {
    /** Id of the organisation */
    readonly organisationId: string;
    readonly body: NewApiKey;
  }, options?: CallOptions): Answer<IssuedApiKey["data"], IssuedApiKey>;

  /** Rotate the secret of an API key. Makes a new secret, which only this answer carries. The one before it works for another while. */
  rotateApiKey(input: {
    /** Id of the organisation */
    readonly organisationId: string;
    /** The value of X-API-Key */
    readonly keyId: string;
    readonly body: ApiKeyRotation;
  }, options?: CallOptions): Answer<IssuedApiKey["data"], IssuedApiKey>;

  /** Revoke an API key. Ends a key for good, within five seconds on every process. */
  revokeApiKey(input: {
    /** Id of the organisation */
    readonly organisationId: string;
    /** The value of X-API-Key */
    readonly keyId: string;
  }, options?: CallOptions): Answer<undefined>;
}

/** The area control, for `createClient`. */
export const control: Area<ControlOperations> = {
  rows: {
    readMe: "GET /api/v2/me a",
    readMyRoleInOrganisation: "GET /api/v2/organisations/{organisationId}/my_role a",
    readMyRoleInSpace: "GET /api/v2/spaces/{spaceId}/my_role a",
    readMyRoleInProject: "GET /api/v2/projects/{projectId}/my_role a",
    listAccessTokens: "GET /api/v2/access_tokens a",
    createAccessToken: "POST /api/v2/access_tokens a",
    revokeAccessToken: "DELETE /api/v2/access_tokens/{accessTokenId} a",
    createSession: "POST /api/v2/sessions",
    verifySession: "POST /api/v2/sessions/{sessionId}/verify",
    listOrganisationChanges: "GET /api/v2/organisations/{organisationId}/audit a",
    listSpaceChanges: "GET /api/v2/spaces/{spaceId}/audit a",
    listProjectChanges: "GET /api/v2/projects/{projectId}/audit a",
    readProcess: "GET /api/v2/process a",
    listDeadLetterCounts: "GET /api/v2/dead_letter_counts a",
    listOrganisations: "GET /api/v2/organisations a",
    createOrganisation: "POST /api/v2/organisations ai",
    readOrganisation: "GET /api/v2/organisations/{organisationId} a",
    changeOrganisation: "PATCH /api/v2/organisations/{organisationId} ai",
    readOrganisationAnnotations: "GET /api/v2/organisations/{organisationId}/annotations a",
    changeOrganisationAnnotations: "PATCH /api/v2/organisations/{organisationId}/annotations ai",
    listOrganisationSpaces: "GET /api/v2/organisations/{organisationId}/spaces a",
    readSpace: "GET /api/v2/spaces/{spaceId} a",
    changeSpace: "PATCH /api/v2/spaces/{spaceId} ai",
    createSpace: "POST /api/v2/spaces ai",
    readSpaceAnnotations: "GET /api/v2/spaces/{spaceId}/annotations a",
    changeSpaceAnnotations: "PATCH /api/v2/spaces/{spaceId}/annotations ai",
    listSpaceProjects: "GET /api/v2/spaces/{spaceId}/projects a",
    readProject: "GET /api/v2/projects/{projectId} a",
    changeProject: "PATCH /api/v2/projects/{projectId} ai",
    createProject: "POST /api/v2/projects ai",
    readProjectAnnotations: "GET /api/v2/projects/{projectId}/annotations a",
    changeProjectAnnotations: "PATCH /api/v2/projects/{projectId}/annotations ai",
    listSpaceApps: "GET /api/v2/spaces/{spaceId}/apps a",
    readApp: "GET /api/v2/apps/{appId} a",
    removeApp: "DELETE /api/v2/apps/{appId} a",
    createApp: "POST /api/v2/apps ai",
    listProjectEvents: "GET /api/v2/projects/{projectId}/events a",
    readEvent: "GET /api/v2/events/{eventId} a",
    changeEvent: "PATCH /api/v2/events/{eventId} ai",
    removeEvent: "DELETE /api/v2/events/{eventId} a",
    createEvent: "POST /api/v2/events ai",
    readEventAnnotations: "GET /api/v2/events/{eventId}/annotations a",
    changeEventAnnotations: "PATCH /api/v2/events/{eventId}/annotations ai",
    readMyRoleInEvent: "GET /api/v2/events/{eventId}/my_role a",
    changeEventElements: "PATCH /api/v2/events/{eventId}/relationships/elements ai",
    listProjectEventTemplates: "GET /api/v2/projects/{projectId}/event_templates a",
    readEventTemplate: "GET /api/v2/event_templates/{eventTemplateId} a",
    changeEventTemplate: "PATCH /api/v2/event_templates/{eventTemplateId} ai",
    removeEventTemplate: "DELETE /api/v2/event_templates/{eventTemplateId} a",
    createEventTemplate: "POST /api/v2/event_templates ai",
    readEventTemplateAnnotations: "GET /api/v2/event_templates/{eventTemplateId}/annotations a",
    changeEventTemplateAnnotations: "PATCH /api/v2/event_templates/{eventTemplateId}/annotations ai",
    listEventElements: "GET /api/v2/events/{eventId}/elements a",
    readElement: "GET /api/v2/elements/{elementId} a",
    changeElement: "PATCH /api/v2/elements/{elementId} ai",
    removeElement: "DELETE /api/v2/elements/{elementId} a",
    createElement: "POST /api/v2/elements ai",
    readElementAnnotations: "GET /api/v2/elements/{elementId}/annotations a",
    changeElementAnnotations: "PATCH /api/v2/elements/{elementId}/annotations ai",
    readMyRoleInElement: "GET /api/v2/elements/{elementId}/my_role a",
    listSpaceAssets: "GET /api/v2/spaces/{spaceId}/assets a",
    uploadAsset: "POST /api/v2/spaces/{spaceId}/assets ab",
    readAsset: "GET /api/v2/assets/{assetId} a",
    changeAsset: "PATCH /api/v2/assets/{assetId} ai",
    removeAsset: "DELETE /api/v2/assets/{assetId} a",
    addAssetTags: "POST /api/v2/assets/{assetId}/relationships/tags ai",
    removeAssetTags: "DELETE /api/v2/assets/{assetId}/relationships/tags a",
    listSpaceTags: "GET /api/v2/spaces/{spaceId}/tags a",
    createTag: "POST /api/v2/tags ai",
    listOrganisationRoles: "GET /api/v2/organisations/{organisationId}/roles a",
    createOrganisationScopeRole: "POST /api/v2/organisations/{organisationId}/roles ai",
    listSpaceRoles: "GET /api/v2/spaces/{spaceId}/roles a",
    createSpaceScopeRole: "POST /api/v2/spaces/{spaceId}/roles ai",
    listProjectRoles: "GET /api/v2/projects/{projectId}/roles a",
    createProjectScopeRole: "POST /api/v2/projects/{projectId}/roles ai",
    changeScopeRole: "PATCH /api/v2/scope_roles/{scopeRoleId} ai",
    removeScopeRole: "DELETE /api/v2/scope_roles/{scopeRoleId} a",
    validateSpecUrl: "POST /api/v2/apps/validate_spec_url ai",
    listProjectContentTypes: "GET /api/v2/projects/{projectId}/content_types a",
    readProjectContentType: "GET /api/v2/projects/{projectId}/content_types/{contentType} a",
    changeProjectApp: "PATCH /api/v2/projects/{projectId}/relationships/app ai",
    readCatalogueSpec: "GET /apps/catalogue/1.0.0/spec.json",
    readCatalogueElements: "GET /apps/catalogue/1.0.0/elements.json",
    listSpaceMediaTypes: "GET /api/v2/spaces/{spaceId}/media_types a",
    listSpaceUploaders: "GET /api/v2/spaces/{spaceId}/uploaders a",
    readAssetFile: "GET /assets/{spaceId}/{sha256}/{name} w",
    makeOperations: "POST /api/v2/operations ai",
    cloneEvent: "POST /api/v2/events/{eventId}/clone ai",
    getLoyaltyConfiguration: "GET /api/v2/spaces/{spaceId}/loyalty ka",
    putLoyaltyConfiguration: "PUT /api/v2/spaces/{spaceId}/loyalty ka",
    listLoyaltyVersions: "GET /api/v2/spaces/{spaceId}/loyalty/versions ka",
    getLoyaltyVersion: "GET /api/v2/spaces/{spaceId}/loyalty/versions/{version} ka",
    rollBackLoyaltyConfiguration: "POST /api/v2/spaces/{spaceId}/loyalty/rollback ka",
    listLoyaltyWebhooks: "GET /api/v2/spaces/{spaceId}/loyalty/webhooks ka",
    getLoyaltyWebhook: "GET /api/v2/spaces/{spaceId}/loyalty/webhooks/{webhookId} ka",
    enableLoyaltyWebhook: "POST /api/v2/spaces/{spaceId}/loyalty/webhooks/{webhookId}/enable ka",
    listDeadWebhookLetters: "GET /api/v2/spaces/{spaceId}/loyalty/webhooks/{webhookId}/dead-letters kan",
    replayDeadWebhookLetters: "POST /api/v2/spaces/{spaceId}/loyalty/webhooks/{webhookId}/dead-letters/replay ka",
    getLoyaltySchema: "GET /schemas/loyalty.json",
    listApiKeys: "GET /api/v2/organisations/{organisationId}/api_keys ka",
    createApiKey: "POST /api/v2/organisations/{organisationId}/api_keys ka",
    rotateApiKey: "POST /api/v2/organisations/{organisationId}/api_keys/{keyId}/rotate ka",
    revokeApiKey: "DELETE /api/v2/organisations/{organisationId}/api_keys/{keyId} ka",
  },
};
