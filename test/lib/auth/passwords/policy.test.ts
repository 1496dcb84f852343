import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isCommonPassword } from "../../../../lib/auth/passwords/common_passwords.ts";
import { checkPassword, type PasswordPolicy } from "../../../../lib/auth/passwords/mod.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import { hasCode } from "../_setup.ts";

const passwordCheckMsMax = 3_000;

const strong = "not on any list of passwords";

async function reasonOf(password: string, policy: PasswordPolicy = {}): Promise<string | undefined> {
  try {
    await checkPassword(password, policy);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, "weak_password");
    return error.fields?.[0]?.reason;
  }
}

describe("the choice of a password", () => {
  it("allows 8 to 1,024 UTF-16 units, whatever they are", async () => {
    assert.equal(await reasonOf("q7#kZ!w"), "too_short");
    assert.equal(await reasonOf("q7#kZ!w."), undefined);
    assert.equal(await reasonOf("       x"), undefined);
    assert.equal(await reasonOf("🏟🏟🏟🎯"), undefined);
    assert.equal(await reasonOf("xy".repeat(32)), undefined);
    assert.equal(await reasonOf("xy".repeat(512)), undefined);
    assert.equal(await reasonOf("x".repeat(1_025)), "too_long");
  });

  it("refuses one character again and again, and the e-mail address of the user", async () => {
    for (const one of ["xxxxxxxx", "        ", "🏟🏟🏟🏟", "Ａ".repeat(9), "ＡAＡAＡAＡA"]) {
      assert.equal(await reasonOf(one), "repeated", one);
    }
    for (const same of ["Sam@example.org", "sam@EXAMPLE.org", "ｓam@example.org"]) {
      const error = await checkPassword(same, {}, { email: "sam@example.org" }).catch(thrown => thrown);
      assert.equal(error.fields?.[0]?.reason, "same_as_email", same);
    }
    await checkPassword("sam@example.org!", {}, { email: "sam@example.org" });
  });

  it("refuses text that UTF-8 cannot carry", async () => {
    assert.equal(await reasonOf("lone \ud800 surrogate"), "ill_formed");
  });

  it("refuses the 3,000 most common passwords of that length, in any case", async () => {
    for (const common of ["password", "PassWord", "12345678", "qwertyuiop", "1QAZ2WSX", "trustno1"]) {
      assert.equal(await reasonOf(common), "common", common);
    }
    assert.equal(isCommonPassword(strong), false);
    // As typed: a blank makes it another password.
    assert.equal(await reasonOf("password "), undefined);
  });

  it("says which field is at fault", async () => {
    const error = await checkPassword("short").catch(thrown => thrown);
    assert.ok(error instanceof AppError);
    assert.deepEqual(error.fields, [
      { pointer: "/data/password", detail: "Expected at least 8 characters", reason: "too_short" },
    ]);
    assert.ok(!error.message.includes("short"));
  });
});

describe("a deployment's own check", () => {
  it("checks passwords that passed the other rules, and its reason is answered", async () => {
    const seen: string[] = [];
    const policy: PasswordPolicy = {
      async check(password) {
        seen.push(password);
        return password.startsWith("leaked") ? "breached" : null;
      },
    };
    assert.equal(await reasonOf("leaked long ago", policy), "breached");
    assert.equal(await reasonOf(strong, policy), undefined);
    assert.equal(await reasonOf("password", policy), "common");
    assert.deepEqual(seen, ["leaked long ago", strong]);
  });

  it("accepts the password when it fails, or refuses it as busy by the policy", async () => {
    const failures: PasswordPolicy["check"][] = [
      () => Promise.reject(new Error("down")),
      () => {
        throw new Error("down at once");
      },
    ];
    for (const check of failures) {
      assert.ok(check !== undefined);
      assert.equal(await reasonOf(strong, { check }), undefined);
      await assert.rejects(checkPassword(strong, { check, onCheckFailed: "refuse" }), hasCode("busy"));
    }
  });

  it("is waited for three seconds and no longer", async () => {
    assert.equal(passwordCheckMsMax, 3_000);
    const policy: PasswordPolicy = {
      check: () => new Promise(() => {}),
      timer: (callback, delayMs) => {
        assert.equal(delayMs, 3_000);
        queueMicrotask(callback);
        return () => {};
      },
    };
    assert.equal(await reasonOf(strong, policy), undefined);
    await assert.rejects(checkPassword(strong, { ...policy, onCheckFailed: "refuse" }), hasCode("busy"));
  });

  it("leaves no timer behind when it answers", async () => {
    let running = 0;
    const timer: NonNullable<PasswordPolicy["timer"]> = () => {
      running++;
      return () => running--;
    };
    await checkPassword(strong, { check: async () => null, timer });
    assert.equal(running, 0);
  });
});
