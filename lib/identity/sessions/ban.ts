import { AppError } from "../../errors/mod.ts";
import type { User } from "../users.ts";

/** Whether the user may not sign in at `now`, in Unix ms. */
export function isBanned({ ban }: User, now: number): boolean {
  return ban !== undefined && (ban.until === null || now < ban.until * 1_000);
}

/** What a banned user is told, once the credentials proved to be the user's; `until` in Unix seconds where it ends. */
export function accountBanned({ ban }: User): AppError {
  return new AppError("account_banned", "Cannot let the user in as the account is banned", {
    details: { until: ban?.until ?? null },
  });
}
