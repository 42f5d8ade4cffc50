/** What the core gives to modules that ask for it. */
import type { Audit } from "../kernel/needs.ts"
import type { PersonalData } from "../kernel/personal-data.ts"
import { offerToken, token } from "../kernel/token.ts"
import type { Passwords } from "./accounts/passwords.ts"
import type { SignedIn } from "./accounts/signed-in.ts"
import type { BlobKeepers } from "./blob-keepers.ts"
import type { EndUserTokens } from "./end-users.ts"
import type { ApiKeyCache } from "./keys/key-cache.ts"
import type { AccessKeys } from "./keys/signatures.ts"
import type { BackgroundMeters } from "./meters/meters.ts"
import type { PlatformEvents } from "./platform-events/platform-events.ts"
import type { ScheduleTargets } from "./schedule-targets.ts"
import type { AtRest } from "./secrets/at-rest.ts"
import type { DeriveSecret } from "./secrets/derive.ts"
import type { SecretBox } from "./secrets/secret-box.ts"
import type { TenantKeys } from "./secrets/tenant-keys.ts"

/** Seals what the platform stores for a tenant and must be able to read again. */
export const box = token<SecretBox>("box")
/** Encrypts what tenants store, where the operator asks for it. */
export const atRest = token<AtRest>("atRest")
/** The keys under which tenants encrypt what they store themselves. */
export const tenantKeys = token<TenantKeys>("tenantKeys")
/** Secrets of a purpose, the same in all processes of an installation. */
export const deriveSecret = token<DeriveSecret>("deriveSecret")
/** Checks access tokens of applications' users. */
export const endUserTokens = offerToken<EndUserTokens>("endUserTokens")
/** Hashes passwords, so many at a time. */
export const passwords = token<Passwords>("passwords")
/** For clients that sign their requests in the name of a key. */
export const accessKeys = token<AccessKeys>("accessKeys")
/** Who a key is, by its id for what was put off and must be allowed still, or by its secret. Throws the 401 that fits. */
export const keys = token<Pick<ApiKeyCache, "byId" | "find">>("keys")
/** Tells which files of the blob port no area keeps. */
export const blobKeepers = token<BlobKeepers>("blobKeepers")
/** What the tables of the core and of all areas hold of people. */
export const personalData = token<() => Promise<readonly PersonalData[]>>("personalData")
export const meters = token<BackgroundMeters>("meters")
/** Tells webhooks and notices what happened to a tenant. */
export const platformEvents = token<PlatformEvents>("platformEvents")
/** What schedules can do at their times; areas add what they can do. */
export const scheduleTargets = token<ScheduleTargets>("scheduleTargets")
/** Who is signed in to a browser, for pages that anyone may open. */
export const signedIn = token<SignedIn>("signedIn")
/** For what happens outside of calls. */
export const audit = token<Pick<Audit, "append">>("audit")
/**
 * Resolves when all areas that had work as the platform started are loaded, and those that are being loaded now; with
 * false where one of them could not be, or the platform stops before.
 */
export const areasSettled = token<() => Promise<boolean>>("areasSettled")
