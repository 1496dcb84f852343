/** Requests and answers of operators. */

import * as v from "valibot";
import { parseAddress } from "../../../auth/client_address.ts";
import { integerParameter, named } from "../../../http/mod.ts";
import { UserIdSchema, wellFormed } from "../../../http/requests/validate.ts";
import { AuditCursorSchema, auditPageDefault, auditPageMax } from "../audit/audit.ts";
import { answerOf, UuidSchema } from "../operations.ts";
import { AccountIdSchema } from "../own_accounts.ts";
import { EmailSchema } from "../providers/fields.ts";

const banReasonCharactersMax = 500;
const idCharactersMax = 128;
const nameCharactersMax = 100;

const id = (description: string) =>
  v.pipe(v.string(), v.description(description), v.minLength(1), v.maxLength(idCharactersMax), wellFormed);
const seconds = (description: string) =>
  v.pipe(v.number(), v.integer(), v.description(`${description}, Unix seconds`));
const projectId = v.pipe(UuidSchema, v.description("Id of the project"));
const userId = id("Id of the user");

export const OperatorProjectParams = v.object({ projectId });
export const UserParams = v.object({ projectId, userId });
export const SessionParams = v.object({ projectId, userId, sessionId: id("Id of the session") });

export const ClientTokenParams = v.object({ projectId, tokenId: id("Id of the client token") });

export const ClientTokenBodySchema = named(
  "NewClientToken",
  v.object({
    name: v.pipe(
      v.string(),
      v.description("Purpose of the token"),
      v.minLength(1),
      v.maxLength(nameCharactersMax),
      wellFormed,
    ),
  }),
);

export const EmailQuerySchema = v.object({
  email: v.pipe(v.string(), v.description("E-mail address of the user"), EmailSchema),
});

export const PageQuerySchema = v.object({
  limit: v.optional(
    integerParameter({ description: "Most entries of the page", minimum: 1, maximum: auditPageMax }),
    String(auditPageDefault),
  ),
  cursor: v.exactOptional(AuditCursorSchema),
});

export const MergeBodySchema = named(
  "UserMerge",
  v.object({
    into: v.exactOptional(
      v.pipe(UserIdSchema, v.description("Id of the user who gets everything and stays")),
    ),
    intoExternalId: v.exactOptional(AccountIdSchema),
  }),
);
export const MergeSchema = named("MergedUser", answerOf(v.object({ from: v.string(), into: v.string() })));

/** What a deletion leaves. */
export const DeletedUserSchema = named(
  "DeletedUser",
  answerOf(
    v.object({
      left: v.pipe(
        v.array(
          named(
            "LeftRecords",
            v.object({
              kind: v.string(),
              description: v.string(),
              removal: v.picklist(["expires", "stays"]),
              reason: v.pipe(v.string(), v.description("Why it is left, and for how long")),
            }),
          ),
        ),
        v.description("Kinds of records that no deletion removes, whether the user had any or not"),
      ),
    }),
  ),
);

export const BanBodySchema = named(
  "Ban",
  v.object({
    reason: v.pipe(
      v.string(),
      v.description("Why the user is banned"),
      v.minLength(1),
      v.maxLength(banReasonCharactersMax),
    ),
    until: v.exactOptional(
      v.pipe(
        v.number(),
        v.description("End of the ban, Unix seconds; without it the ban lasts until it is lifted"),
        v.safeInteger(),
        v.minValue(1),
      ),
    ),
  }),
);

export const UnlockQuerySchema = v.object({
  address: v.exactOptional(
    v.pipe(
      v.string(),
      v.description("IP address whose failed logins are forgotten too"),
      v.check(text => parseAddress(text) !== undefined, "Expected an IP address"),
    ),
  ),
});

export const BanSchema = named(
  "UserBan",
  answerOf(
    v.object({ userId: v.string(), reason: v.string(), until: v.nullable(seconds("End of the ban")) }),
  ),
);

const ProjectUserItem = named(
  "ProjectUser",
  v.object({
    userId: v.string(),
    provider: v.string(),
    username: v.string(),
    signUp: seconds("Time of sign-up"),
    lastLogin: v.nullable(seconds("Last login")),
    email: v.pipe(v.string(), v.description("As the user wrote it; empty without an account")),
    isEmailVerified: v.boolean(),
    ban: v.nullable(v.object({ reason: v.string(), until: v.nullable(seconds("End of the ban")) })),
    mergedInto: v.nullable(v.pipe(v.string(), v.description("The user that this one was merged into"))),
  }),
);

export const ProjectUserSchema = named("ProjectUserAnswer", answerOf(ProjectUserItem));
export const FoundUsersSchema = named("FoundUsers", answerOf(v.object({ users: v.array(ProjectUserItem) })));

export const TrailSchema = named(
  "AuditPage",
  answerOf(
    v.object({
      entries: v.array(
        v.object({
          at: seconds("Time of the attempt"),
          event: v.string(),
          outcome: v.pipe(v.string(), v.description("`ok` or the code of the error")),
          provider: v.string(),
          requestId: v.string(),
          actor: v.exactOptional(
            v.pipe(
              v.string(),
              v.description("API key of an operator, or `user:<user>/<token>` for an admin's access token"),
            ),
          ),
          userId: v.exactOptional(v.string()),
          sessionId: v.exactOptional(v.string()),
          deviceId: v.exactOptional(
            v.pipe(
              v.string(),
              v.description("Device of the attempt; not of `anonymous` users, whom it proves"),
            ),
          ),
          reason: v.exactOptional(v.pipe(v.string(), v.description("Why the user was banned"))),
          addressTag: v.exactOptional(v.pipe(v.string(), v.description("Network of the client"))),
          userAgentTag: v.exactOptional(v.pipe(v.string(), v.description("Keyed hash of the user agent"))),
        }),
      ),
      cursor: v.nullable(v.pipe(v.string(), v.description("Cursor of the next page"))),
    }),
  ),
);

export const SessionsSchema = named(
  "UserSessions",
  answerOf(
    v.object({
      sessions: v.array(
        v.object({
          sessionId: v.string(),
          deviceId: v.string(),
          createdAt: seconds("Time of the login"),
          lastSeen: seconds("Time of the last refresh"),
          expiresAt: seconds("Time of its end in any case"),
          userAgent: v.string(),
          addressTag: v.pipe(v.string(), v.description("Network of the client at login")),
        }),
      ),
    }),
  ),
);

export const RevokedSchema = named(
  "RevokedSessions",
  answerOf(v.object({ revoked: v.pipe(v.number(), v.integer()) })),
);

const clientTokenEntries = {
  id: v.string(),
  name: v.pipe(v.string(), v.description("Purpose of the token")),
  createdAt: seconds("Time of issue"),
  expiresAt: seconds("End of its life in any case"),
  endedAt: v.nullable(seconds("Time at which it was ended")),
};
const ClientTokenItem = named("ClientToken", v.object(clientTokenEntries));

export const ClientTokenSchema = named("ClientTokenAnswer", answerOf(ClientTokenItem));
export const ClientTokensSchema = named(
  "ClientTokens",
  answerOf(v.object({ clientTokens: v.array(ClientTokenItem) })),
);
export const IssuedClientTokenSchema = named(
  "IssuedClientToken",
  answerOf(
    v.object({
      ...clientTokenEntries,
      token: v.pipe(v.string(), v.description("JWT for the app, the bearer of both steps of a recovery")),
    }),
  ),
);
