import { adminOperations } from "./auth-admin.ts"
import { importOperations } from "./auth-import.ts"
import { providerCallbacks, providerOperations } from "./auth-providers.ts"
import { signInOperations } from "./auth-sign-in.ts"
import { mfaOperations, userOperations } from "./auth-user.ts"
import { area } from "./dsl.ts"

export const auth = area(
  "auth",
  {
    title: "End-user auth",
    summary:
      "The users of an application: sign-up, sign-in, second factors, tokens, and their administration.",
    project: "required",
    belongs: "project",
    envelope: "bare",
    audit: "rollup",
  },
  {
    ...signInOperations,
    ...userOperations,
    ...mfaOperations,
    ...providerOperations,
    ...providerCallbacks,
    ...adminOperations,
    ...importOperations,
  },
)
