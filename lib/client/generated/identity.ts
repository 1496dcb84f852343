/**
 * Operations of the area identity. Made from the route tables by `npm run client-types`: change those.
 *
 * @module
 */

import type { Answer, Area, CallOptions, List } from "../area.ts";

/** `AnonymousRegistration` of the OpenAPI document. */
export interface AnonymousRegistration {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly deviceId: string;
    /** Time of issue, Unix seconds */
    readonly timeStamp: number;
    /** HMAC-SHA-256 of the record, 64 upper-case hexadecimal digits */
    readonly signature: string;
    readonly externalId: string;
    readonly userId: string;
    /** Time of sign-up, Unix seconds */
    readonly signUp: number;
    readonly isNew: boolean;
  };
}

/** `AuditPage` of the OpenAPI document. */
export interface AuditPage {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly entries: readonly {
      /** Time of the attempt, Unix seconds */
      readonly at: number;
      readonly event: string;
      /** `ok` or the code of the error */
      readonly outcome: string;
      readonly provider: string;
      readonly requestId: string;
      /** API key of an operator, or `user:<user>/<token>` for an admin's access token */
      readonly actor?: string;
      readonly userId?: string;
      readonly sessionId?: string;
      /** Device of the attempt; not of `anonymous` users, whom it proves */
      readonly deviceId?: string;
      /** Network of the client */
      readonly addressTag?: string;
      /** Keyed hash of the user agent */
      readonly userAgentTag?: string;
    }[];
    readonly cursor: string | null;
  };
}

/** `Ban` of the OpenAPI document. */
export interface Ban {
  /** Why the user is banned */
  readonly reason: string;
  /** End of the ban, Unix seconds; without it the ban lasts until it is lifted */
  readonly until?: number;
}

/** `CheckedUser` of the OpenAPI document. */
export type CheckedUser = PoolProfile | HostedCheck;

/** `ClientToken` of the OpenAPI document. */
export interface ClientToken {
  readonly id: string;
  /** Purpose of the token */
  readonly name: string;
  /** Time of issue, Unix seconds */
  readonly createdAt: number;
  /** End of its life in any case, Unix seconds */
  readonly expiresAt: number;
  readonly endedAt: number | null;
}

/** `ClientTokenAnswer` of the OpenAPI document. */
export interface ClientTokenAnswer {
  readonly result: 1;
  readonly message: string;
  readonly data: ClientToken;
}

/** `ClientTokens` of the OpenAPI document. */
export interface ClientTokens {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly clientTokens: readonly ClientToken[];
  };
}

/** `Device` of the OpenAPI document. */
export interface Device {
  readonly deviceId: string;
  /** Last login, Unix seconds */
  readonly lastLogin: number;
  /** Time of sign-up, Unix seconds */
  readonly signUp: number;
  readonly userId: string;
  /** Time of the record, Unix seconds */
  readonly timeStamp: number;
  readonly signature: string;
}

/** `EmailConfirmation` of the OpenAPI document. */
export interface EmailConfirmation {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "email";
  /** Provider of the user */
  readonly provider: "managedPool";
  /** The account and the mailed code */
  readonly data: {
    readonly email: string;
    /** The mailed code; whatever is no digit is left out */
    readonly confirmationCode: string;
    /** The password from now on: that of the registration, or a new one. All other sessions end */
    readonly password?: string;
  };
}

/** `EmailVerification` of the OpenAPI document. */
export interface EmailVerification {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "email";
  /** Provider of the user */
  readonly provider: "managedPool";
  /** The account, to whose address a code is mailed */
  readonly data: {
    readonly email: string;
  };
}

/** `EmptyAnswer` of the OpenAPI document. */
export interface EmptyAnswer {
  readonly result: 1;
  readonly message: string;
  readonly data: Readonly<Record<string, never>>;
}

/** `FoundUsers` of the OpenAPI document. */
export interface FoundUsers {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly users: readonly ({
      readonly userId: string;
      readonly provider: string;
      readonly username: string;
      /** Time of sign-up, Unix seconds */
      readonly signUp: number;
      readonly lastLogin: number | null;
      /** As the user wrote it */
      readonly email: string;
      readonly isEmailVerified: boolean;
      readonly ban: {
        readonly reason: string;
        readonly until: number | null;
      } | null;
    })[];
  };
}

/** `HostedChanges` of the OpenAPI document. */
export interface HostedChanges {
  readonly username?: string;
  /** Members that the client decides */
  readonly appProfile?: Readonly<Record<string, unknown>>;
}

/** `HostedCheck` of the OpenAPI document. */
export interface HostedCheck {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly username: string;
    /** Members that the client decides */
    readonly appProfile: Readonly<Record<string, unknown>>;
    /** Logins, Unix seconds */
    readonly loginHistory: readonly number[];
    readonly userId: string;
    /** JWT for the APIs, for 10 minutes */
    readonly accessToken: string;
    /** JWT with the profile */
    readonly profileToken?: string;
    /** JWT that is exchanged for new tokens, once */
    readonly refreshToken?: string;
  };
}

/** `HostedProfile` of the OpenAPI document. */
export interface HostedProfile {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly username: string;
    /** Members that the client decides */
    readonly appProfile: Readonly<Record<string, unknown>>;
    /** Logins, Unix seconds */
    readonly loginHistory: readonly number[];
  };
}

/** `HostedUpdate` of the OpenAPI document. */
export interface HostedUpdate {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly externalId: string;
    readonly projectId: string;
    /** Access token of the platform */
    readonly accessToken: string;
    /** Members that the client decides */
    readonly appProfile: Readonly<Record<string, unknown>>;
  };
}

/** `IdentityProfile` of the OpenAPI document. */
export type IdentityProfile = NoLoginProfile | PoolProfile | HostedProfile;

/** `IdentityProof` of the OpenAPI document. */
export type IdentityProof = {
  /** An access token of the platform proves the user */
  readonly type: "accessToken";
  /** The access token */
  readonly token: string;
} | {
  /** A signed session record proves the user */
  readonly type: "sessionRecord";
  /** Project that issued the record */
  readonly projectId: string;
  /** The record as it was answered, with its signature */
  readonly record: {
    readonly deviceId: string;
    readonly timeStamp: number;
    readonly signature: string;
    readonly externalId: string;
    readonly userId: string;
    readonly signUp?: number;
    readonly signup?: number;
  };
} | {
  /** An ID token of the space's issuer proves the user */
  readonly type: "idToken";
  /** The ID token, a JWT */
  readonly token: string;
} | {
  /** An API key proves the back end */
  readonly type: "service";
  /** The API key */
  readonly key: string;
  /** Secret of the API key */
  readonly secret: string;
};

/** `IssuedClientToken` of the OpenAPI document. */
export interface IssuedClientToken {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly id: string;
    /** Purpose of the token */
    readonly name: string;
    /** Time of issue, Unix seconds */
    readonly createdAt: number;
    /** End of its life in any case, Unix seconds */
    readonly expiresAt: number;
    readonly endedAt: number | null;
    /** JWT for the app, the bearer of both steps of a recovery */
    readonly token: string;
  };
}

/** `LoggedInUser` of the OpenAPI document. */
export type LoggedInUser = SessionRecordAnswer | SessionAnswer;

/** `Login` of the OpenAPI document. */
export type Login = {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "simplified";
  /** Provider of the user */
  readonly provider: "noLogin";
  /** The user who logs in */
  readonly data: {
    /** External id of the user, a capability */
    readonly externalId: string;
    /** Time of the session record in Unix seconds, if the project demands its signature */
    readonly timeStamp?: number;
    /** Signature of the session record, if the project demands one */
    readonly signature?: string;
  };
} | {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "simplified";
  /** Provider of the user */
  readonly provider: "anonymous";
  /** The user and the registered device */
  readonly data: {
    /** External id of the user, a capability */
    readonly externalId: string;
    readonly deviceId: string;
    /** Time of the session record in Unix seconds, if the project demands its signature */
    readonly timeStamp?: number;
    /** Signature of the session record, if the project demands one */
    readonly signature?: string;
  };
} | {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "email";
  /** Provider of the user */
  readonly provider: "managedPool";
  /** The credentials, and the anonymous user of the device, if there is one */
  readonly data: {
    readonly email: string;
    readonly password: string;
    /** External id of the user, a capability */
    readonly externalId?: string;
    readonly deviceId?: string;
    /** Time of the session record in Unix seconds, if the project demands its signature */
    readonly timeStamp?: number;
    /** Signature of the session record, if the project demands one */
    readonly signature?: string;
  };
};

/** `Logout` of the OpenAPI document. */
export interface Logout {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "email";
  /** Provider of the user */
  readonly provider: "managedPool" | "hostedIdp" | "socialOne" | "socialTwo" | "socialThree";
  /** Ends the session of the token (`local`), all other sessions of the user, or all */
  readonly scope?: "local" | "others" | "global";
}

/** `NewClientToken` of the OpenAPI document. */
export interface NewClientToken {
  /** Purpose of the token */
  readonly name: string;
}

/** `NoLoginProfile` of the OpenAPI document. */
export interface NoLoginProfile {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly username: string;
    /** Logins, Unix seconds */
    readonly loginHistory: readonly number[];
    /** Members that the client decides */
    readonly appProfile: Readonly<Record<string, unknown>>;
  };
  readonly strategy: "simplified";
  readonly provider: "noLogin";
  readonly projectId: string;
  readonly externalId: string;
}

/** `NoLoginRegistration` of the OpenAPI document. */
export interface NoLoginRegistration {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly deviceId: string;
    /** Time of issue, Unix seconds */
    readonly timeStamp: number;
    /** HMAC-SHA-256 of the record, 64 upper-case hexadecimal digits */
    readonly signature: string;
    readonly externalId: string;
    readonly userId: string;
    readonly isNew: boolean;
    readonly username: string;
    /** Time of sign-up, Unix seconds */
    readonly signup: number;
  };
}

/** `PasswordChange` of the OpenAPI document. */
export interface PasswordChange {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "email";
  /** Provider of the user */
  readonly provider: "managedPool";
  /** The new password, and the present one as proof */
  readonly data: {
    /** 8 to 1,024 characters, and no common one */
    readonly password: string;
    readonly previousPassword: string;
  };
}

/** `PasswordConfirmation` of the OpenAPI document. */
export interface PasswordConfirmation {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "email";
  /** Provider of the user */
  readonly provider: "managedPool";
  /** The account, the mailed code and the new password */
  readonly data: {
    readonly email: string;
    /** The mailed code; whatever is no digit is left out */
    readonly confirmationCode: string;
    /** 8 to 1,024 characters, and no common one */
    readonly password: string;
  };
}

/** `PasswordRecovery` of the OpenAPI document. */
export interface PasswordRecovery {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "email";
  /** Provider of the user */
  readonly provider: "managedPool";
  /** The account, to whose address a code is mailed */
  readonly data: {
    readonly email: string;
  };
}

/** `PoolChanges` of the OpenAPI document. */
export interface PoolChanges {
  readonly email?: string;
  /** Name that everybody may see, or an empty text */
  readonly nickname?: string;
  /** Consent to a set of terms */
  readonly "custom:terms_optin1"?: string;
  /** Consent to a set of terms */
  readonly "custom:terms_optin2"?: string;
}

/** `PoolProfile` of the OpenAPI document. */
export interface PoolProfile {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly data: {
      readonly username: string;
      readonly email: string;
      readonly "custom:terms_optin1": string;
      readonly "custom:terms_optin2": string;
      readonly nickname: string;
      readonly userId: string;
      /** Logins, Unix seconds */
      readonly loginHistory: readonly number[];
    };
    readonly "custom:terms_optin1": string;
    readonly "custom:terms_optin2": string;
    /** Time of the last change, Unix seconds as text */
    readonly updatedAt: string;
    readonly nickname: string;
    readonly email: string;
    /** True if the user proved control of the address */
    readonly emailVerified: boolean;
    readonly devices: readonly Device[];
  };
}

/** `PoolRegistration` of the OpenAPI document. */
export interface PoolRegistration {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly data: Readonly<Record<string, never>>;
    readonly result: 1;
    readonly message: string;
  };
}

/** `PoolUpdate` of the OpenAPI document. */
export interface PoolUpdate {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly email: string;
    readonly username: string;
    readonly externalId: string;
    readonly projectId: string;
  };
}

/** `RegisteredUser` of the OpenAPI document. */
export type RegisteredUser = AnonymousRegistration | PoolRegistration;

/** `Registration` of the OpenAPI document. */
export type Registration = {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "simplified";
  /** Provider of the user */
  readonly provider: "noLogin";
  /** The new user */
  readonly data: {
    readonly username: string;
  };
} | {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "simplified";
  /** Provider of the user */
  readonly provider: "anonymous";
  /** The device to register, and what tells its users apart */
  readonly data: {
    readonly deviceId: string;
    readonly additionalId?: string;
    /** Time of the session record in Unix seconds, if the project demands its signature */
    readonly timeStamp?: number;
    /** Signature of the session record, if the project demands one */
    readonly signature?: string;
  };
} | {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "email";
  /** Provider of the user */
  readonly provider: "managedPool";
  /** The new account, and the anonymous user of the device, if there is one */
  readonly data: {
    readonly email: string;
    /** 8 to 1,024 characters, and no common one */
    readonly password: string;
    /** Name that everybody may see, or an empty text */
    readonly nickname?: string;
    /** Consent to a set of terms */
    readonly "custom:terms_optin1"?: string;
    /** Consent to a set of terms */
    readonly "custom:terms_optin2"?: string;
    /** External id of the user, a capability */
    readonly externalId?: string;
    readonly deviceId?: string;
    /** Time of the session record in Unix seconds, if the project demands its signature */
    readonly timeStamp?: number;
    /** Signature of the session record, if the project demands one */
    readonly signature?: string;
  };
};

/** `RevokedSessions` of the OpenAPI document. */
export interface RevokedSessions {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly revoked: number;
  };
}

/** `SessionAnswer` of the OpenAPI document. */
export interface SessionAnswer {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly deviceId: string;
    /** Time of issue, Unix seconds */
    readonly timeStamp: number;
    /** HMAC-SHA-256 of the record, 64 upper-case hexadecimal digits */
    readonly signature: string;
    readonly externalId: string;
    readonly userId: string;
    /** Time of sign-up, Unix seconds */
    readonly signUp: number;
    /** JWT for the APIs, for 10 minutes */
    readonly accessToken: string;
    /** JWT with the profile */
    readonly profileToken: string;
    /** JWT that is exchanged for new tokens, once */
    readonly refreshToken: string;
  };
}

/** `SessionRecordAnswer` of the OpenAPI document. */
export interface SessionRecordAnswer {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly deviceId: string;
    /** Time of issue, Unix seconds */
    readonly timeStamp: number;
    /** HMAC-SHA-256 of the record, 64 upper-case hexadecimal digits */
    readonly signature: string;
    readonly externalId: string;
    readonly userId: string;
    /** Time of sign-up, Unix seconds */
    readonly signUp: number;
  };
}

/** `SessionRefresh` of the OpenAPI document. */
export interface SessionRefresh {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "email";
  /** Provider of the user */
  readonly provider: "managedPool" | "hostedIdp" | "socialOne" | "socialTwo" | "socialThree";
  /** Device of the session, a UUID */
  readonly deviceId: string;
  /** The last refresh token of the session, which is exchanged once */
  readonly refreshToken: string;
}

/** `SocialCheck` of the OpenAPI document. */
export interface SocialCheck {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    /** Time of the last change, Unix seconds as text */
    readonly updatedAt: string;
    readonly nickname: string;
    readonly email: string;
    readonly devices: readonly Device[];
    readonly userId?: string;
    /** JWT for the APIs, for 10 minutes */
    readonly accessToken?: string;
    /** JWT with the profile */
    readonly profileToken?: string;
    /** JWT that is exchanged for new tokens, once */
    readonly refreshToken?: string;
  };
}

/** `SpaceToken` of the OpenAPI document. */
export interface SpaceToken {
  readonly message: string;
  readonly data: {
    readonly accessToken: string;
    readonly tokenType: "Bearer";
    /** Seconds */
    readonly expiresIn: number;
  };
}

/** `UpdatedUser` of the OpenAPI document. */
export type UpdatedUser = NoLoginProfile | PoolUpdate | HostedUpdate;

/** `UserBan` of the OpenAPI document. */
export interface UserBan {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly userId: string;
    readonly reason: string;
    readonly until: number | null;
  };
}

/** `UserChanges` of the OpenAPI document. */
export type UserChanges = {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "simplified";
  /** Provider of the user */
  readonly provider: "noLogin";
  /** External id of the user, a capability */
  readonly externalId: string;
  /** Time of the session record in Unix seconds, if the project demands its signature */
  readonly timeStamp?: number;
  /** Signature of the session record, if the project demands one */
  readonly signature?: string;
  /** What replaces the application profile */
  readonly data: {
    /** Members that the client decides */
    readonly appProfile: Readonly<Record<string, unknown>>;
  };
} | {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "email";
  /** Provider of the user */
  readonly provider: "managedPool";
  /** What to change; absent members stay */
  readonly data: PoolChanges;
} | {
  /** Id of the project */
  readonly projectId: string;
  /** `simplified` or `email`, as the provider demands */
  readonly strategy: "email";
  /** Provider of the user */
  readonly provider: "hostedIdp";
  /** What to change; absent members stay */
  readonly data: HostedChanges;
};

/** `UserSessions` of the OpenAPI document. */
export interface UserSessions {
  readonly result: 1;
  readonly message: string;
  readonly data: {
    readonly sessions: readonly {
      readonly sessionId: string;
      readonly deviceId: string;
      /** Time of the login, Unix seconds */
      readonly createdAt: number;
      /** Time of the last refresh, Unix seconds */
      readonly lastSeen: number;
      /** Time of its end in any case, Unix seconds */
      readonly expiresAt: number;
      readonly userAgent: string;
      /** Network of the client at login */
      readonly addressTag: string;
    }[];
  };
}

/** Operations of the area identity. */
export interface IdentityOperations {
  /** Register a user. Registers a user with the provider that `strategy` and `provider` select. Registering an e-mail address answers the same whether it is free or taken. */
  registerUser(input: {
    readonly body: Registration;
  }, options?: CallOptions): Answer<NoLoginRegistration["data"] | AnonymousRegistration["data"] | PoolRegistration["data"], NoLoginRegistration | RegisteredUser>;

  /** Change a user. Changes the profile of the user: of the external id for `noLogin`, of the access token for the other providers. For `hostedIdp` it may be a token of the provider. */
  updateUser(input: {
    readonly body: UserChanges;
  }, options?: CallOptions): Answer<NoLoginProfile["data"] | PoolUpdate["data"] | HostedUpdate["data"], UpdatedUser>;

  /** Delete a user's account. Deletes the account and everything about it for ever: sessions, credentials, scores, loyalty and profile. The user is that of the external id for `noLogin`, of external id and device for `anonymous`, and else of the access token, whose login is at most 15 minutes old. */
  deleteOwnUser(input: {
    /** Id of the project */
    readonly projectId: string;
    /** `simplified` or `email`, as the provider demands */
    readonly strategy: string;
    /** Provider of the user */
    readonly provider: string;
    /** External id of a `noLogin` or `anonymous` user */
    readonly externalId?: string;
    /** Device of an `anonymous` user */
    readonly deviceId?: string;
    /** Time of the session record, if the project demands its signature */
    readonly timeStamp?: number;
    /** Signature of the session record, if the project demands it */
    readonly signature?: string;
  }, options?: CallOptions): Answer<Readonly<Record<string, never>>, EmptyAnswer>;

  /** Fetch the profile of a user. Fetches the profile of the user: of the external id for `noLogin`, of the access token for the other providers. For `hostedIdp` it may be a token of the provider. */
  getUser(input: {
    /** Id of the project */
    readonly projectId: string;
    /** `simplified` or `email`, as the provider demands */
    readonly strategy: string;
    /** Provider of the user */
    readonly provider: string;
    /** External id of a `noLogin` user */
    readonly externalId?: string;
    /** Time of the session record, if the project demands its signature */
    readonly timeStamp?: number;
    /** Signature of the session record, if the project demands it */
    readonly signature?: string;
  }, options?: CallOptions): Answer<NoLoginProfile["data"] | PoolProfile["data"] | HostedProfile["data"], IdentityProfile>;

  /** Check a token on a device. Checks the access token of a user on a device, and fetches the profile. For `hostedIdp` it may be a token of the provider, which logs the user in. */
  checkUser(input: {
    /** Id of the project */
    readonly projectId: string;
    /** `simplified` or `email`, as the provider demands */
    readonly strategy: string;
    /** Provider of the user */
    readonly provider: string;
    /** Id of the device */
    readonly deviceId: string;
  }, options?: CallOptions): Answer<PoolProfile["data"] | HostedCheck["data"], CheckedUser>;

  /** Check a token of a social provider. Checks the token of a social provider and fetches the profile of its user. With a `deviceId` the user logs in on that device. */
  checkSocialUser(input: {
    /** Id of the project */
    readonly projectId: string;
    /** `simplified` or `email`, as the provider demands */
    readonly strategy: string;
    /** Provider of the user */
    readonly provider: string;
    /** Id of the user at the provider, demanded for `socialOne` */
    readonly userId?: string;
    /** Access token of the provider */
    readonly accessToken?: string;
    /** ID token of the provider */
    readonly idToken?: string;
    /** Device to log in on */
    readonly deviceId?: string;
  }, options?: CallOptions): Answer<SocialCheck["data"], SocialCheck>;

  /** Log a user in. Logs a user in and answers the session record, with tokens for e-mail users. A `noLogin` user gets a new record for the external id. The ids of an anonymous user in the request merge that user into the account. */
  logInUser(input: {
    readonly body: Login;
  }, options?: CallOptions): Answer<SessionRecordAnswer["data"] | SessionAnswer["data"], LoggedInUser>;

  /** Exchange a refresh token for new tokens. Exchanges a refresh token for new tokens. The bearer is an access token of the same session, which may have expired. */
  refreshUser(input: {
    readonly body: SessionRefresh;
  }, options?: CallOptions): Answer<SessionAnswer["data"], SessionAnswer>;

  /** Log a user out. Ends the session of the access token (`local`), all others (`others`) or all (`global`). The token may have expired. */
  logOutUser(input: {
    readonly body: Logout;
  }, options?: CallOptions): Answer<Readonly<Record<string, never>>, EmptyAnswer>;

  /** Change the password. Changes the password by the previous one, ends all other sessions and opens a new one. */
  changePassword(input: {
    readonly body: PasswordChange;
  }, options?: CallOptions): Answer<SessionAnswer["data"], SessionAnswer>;

  /** Mail a code for a new password. Mails a code for a new password to the user of the address. The bearer is a client token or an access token, unless the project serves requests without. */
  forgotPassword(input: {
    readonly body: PasswordRecovery;
  }, options?: CallOptions): Answer<Readonly<Record<string, never>>, EmptyAnswer>;

  /** Set a new password by a code. Sets a new password by the mailed code and ends all sessions. The bearer is a client token or an access token, unless the project serves requests without. */
  confirmPassword(input: {
    readonly body: PasswordConfirmation;
  }, options?: CallOptions): Answer<Readonly<Record<string, never>>, EmptyAnswer>;

  /** Mail a code that verifies the address. Mails a code to the user of the address, if it is not verified yet. The bearer is a client token or an access token, unless the project serves requests without. */
  verifyEmail(input: {
    readonly body: EmailVerification;
  }, options?: CallOptions): Answer<Readonly<Record<string, never>>, EmptyAnswer>;

  /** Verify the address by a code. Marks the address as verified by the mailed code. The bearer is a client token or an access token, unless the project serves requests without. */
  confirmEmail(input: {
    readonly body: EmailConfirmation;
  }, options?: CallOptions): Answer<Readonly<Record<string, never>>, EmptyAnswer>;

  /** List the audit trail of a project. Lists the attempts at identity operations of a project, newest first. */
  listProjectAudit(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Most entries of the page */
    readonly limit?: number;
    /** Cursor of the page before */
    readonly cursor?: string;
  }, options?: CallOptions): List<AuditPage["data"]["entries"][number], AuditPage>;

  /** List the audit trail of a user. Lists the last 50 attempts at identity operations of a user, newest first. */
  listUserAudit(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the user */
    readonly userId: string;
    /** Most entries of the page */
    readonly limit?: number;
    /** Cursor of the page before */
    readonly cursor?: string;
  }, options?: CallOptions): List<AuditPage["data"]["entries"][number], AuditPage>;

  /** List the sessions of a user. Lists the live sessions of a user. */
  listUserSessions(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the user */
    readonly userId: string;
  }, options?: CallOptions): Answer<UserSessions["data"], UserSessions>;

  /** End all sessions of a user. Ends all sessions of a user; access tokens are refused at once. */
  revokeUserSessions(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the user */
    readonly userId: string;
  }, options?: CallOptions): Answer<RevokedSessions["data"], RevokedSessions>;

  /** End a session of a user. Ends a live session of a user. A session that is over is not found. */
  revokeUserSession(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the user */
    readonly userId: string;
    /** Id of the session */
    readonly sessionId: string;
  }, options?: CallOptions): Answer<Readonly<Record<string, never>>, EmptyAnswer>;

  /** Ban a user. Ends the sessions of a user and refuses new ones, until a time or until the ban is lifted. */
  banUser(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the user */
    readonly userId: string;
    readonly body: Ban;
  }, options?: CallOptions): Answer<UserBan["data"], UserBan>;

  /** Lift the ban of a user. Lifts the ban of a user, if there is one. */
  unbanUser(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the user */
    readonly userId: string;
  }, options?: CallOptions): Answer<Readonly<Record<string, never>>, EmptyAnswer>;

  /** Find a user by e-mail address. Finds the user of the managed pool who has the address, in any spelling of its letters. */
  findUsersByEmail(input: {
    /** Id of the project */
    readonly projectId: string;
    /** E-mail address of the user */
    readonly email: string;
  }, options?: CallOptions): Answer<FoundUsers["data"], FoundUsers>;

  /** Unlock a user. Forgets the failed logins of a user's account, and those of one address. */
  unlockUser(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the user */
    readonly userId: string;
    /** IP address whose failed logins are forgotten too */
    readonly address?: string;
  }, options?: CallOptions): Answer<Readonly<Record<string, never>>, EmptyAnswer>;

  /** Delete a user. Deletes a user with everything about it: credentials, sessions, trail, scores, loyalty and profile. Users whom back ends reported and who never signed up are deleted under the project whose boards they are on, or under any if on none. */
  deleteUser(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the user */
    readonly userId: string;
  }, options?: CallOptions): Answer<Readonly<Record<string, never>>, EmptyAnswer>;

  /** Issue a client token. Issues a token for the app of the project, with which users without a session recover their passwords. It works for 366 days, or until it is ended. The answer alone carries it. */
  issueClientToken(input: {
    /** Id of the project */
    readonly projectId: string;
    readonly body: NewClientToken;
  }, options?: CallOptions): Answer<IssuedClientToken["data"], IssuedClientToken>;

  /** List the client tokens of a project. Lists the client tokens of the project that have not expired, oldest first. */
  listClientTokens(input: {
    /** Id of the project */
    readonly projectId: string;
  }, options?: CallOptions): Answer<ClientTokens["data"], ClientTokens>;

  /** End a client token. Ends a client token at once. */
  endClientToken(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the client token */
    readonly tokenId: string;
  }, options?: CallOptions): Answer<ClientToken, ClientTokenAnswer>;

  /** Issue an access token of the space. Exchanges an access token, a signed session record, an ID token of the space's issuer or the API key of a back end for an access token of the space. The space is that of the user's project; for ID tokens that of the Host, for API keys one of the organisation. */
  issueSpaceToken(input: {
    /** Id of the space; by default that of the Host, else the organisation's default or first one */
    readonly space_id?: string;
    readonly body: IdentityProof;
  }, options?: CallOptions): Answer<SpaceToken["data"], SpaceToken>;
}

/** The area identity, for `createClient`. */
export const identity: Area<IdentityOperations> = {
  rows: {
    registerUser: "POST /v1/user",
    updateUser: "PUT /v1/user u",
    deleteOwnUser: "DELETE /v1/user u",
    getUser: "GET /v1/user u",
    checkUser: "GET /v1/user/check u",
    checkSocialUser: "GET /v1/user/check/nonstandard u",
    logInUser: "PUT /v1/user/login",
    refreshUser: "POST /v1/user/refresh ur",
    logOutUser: "POST /v1/user/logout ur",
    changePassword: "PUT /v1/user/change-password u1",
    forgotPassword: "PUT /v1/user/forgot-password u",
    confirmPassword: "POST /v1/user/confirm-forgot-password u",
    verifyEmail: "PUT /v1/user/verify-email u",
    confirmEmail: "POST /v1/user/confirm-email u",
    listProjectAudit: "GET /internal/identity/projects/{projectId}/audit ka",
    listUserAudit: "GET /internal/identity/projects/{projectId}/users/{userId}/audit ka",
    listUserSessions: "GET /internal/identity/projects/{projectId}/users/{userId}/sessions ka",
    revokeUserSessions: "DELETE /internal/identity/projects/{projectId}/users/{userId}/sessions ka",
    revokeUserSession: "DELETE /internal/identity/projects/{projectId}/users/{userId}/sessions/{sessionId} ka",
    banUser: "PUT /internal/identity/projects/{projectId}/users/{userId}/ban ka",
    unbanUser: "DELETE /internal/identity/projects/{projectId}/users/{userId}/ban ka",
    findUsersByEmail: "GET /internal/identity/projects/{projectId}/users ka",
    unlockUser: "POST /internal/identity/projects/{projectId}/users/{userId}/unlock kar",
    deleteUser: "DELETE /internal/identity/projects/{projectId}/users/{userId} ka",
    issueClientToken: "POST /internal/identity/projects/{projectId}/client-tokens ka",
    listClientTokens: "GET /internal/identity/projects/{projectId}/client-tokens ka",
    endClientToken: "DELETE /internal/identity/projects/{projectId}/client-tokens/{tokenId} ka",
    issueSpaceToken: "POST /api/auth/token r",
  },
};
