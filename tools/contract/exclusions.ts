/** What schemathesis is not asked to judge, and why; `npm run schemathesis` prints it. */
import { type FaultCode, faultSpec, type Operation } from "@svc/contract"

/** Operations that it does not call. */
export const leftOut: Readonly<Record<string, string>> = {
  accountDelete: "is refused to those who belong to an organization, as the person of the run does",
  accountLogout: "ends the session of the run",
  authLogout: "ends the session of the run's user of an application",
  connectNeonSocket: "a WebSocket, whose success is no reply that can be checked",
  sandboxTerminal: "a WebSocket, whose success is no reply that can be checked",
  computerTerminal: "a WebSocket, whose success is no reply that can be checked",
}

const stream = (lasts: string) =>
  `its stream lasts ${lasts}, and one that is found would keep the run waiting`
const MODEL = "takes a model server, and the run has none"
const AUTHENTICATOR = "takes a code of an authenticator or a recovery code, each of which works once"
const PROVIDER = "takes what an outside provider of sign-ins answered, which works once"
const REDIRECT =
  "its page has to be one that the project's settings allow, and the run changes these settings before it"
const MAILED = "takes the token of a mail, which works once"
const GITHUB = "asks GitHub, which no test may"

/** Operations that are called and reach no success here, and why. */
export const unreached: Readonly<Record<string, string>> = {
  streamSupportChatSession: stream("15 minutes"),
  streamSupportChatSessionAsAgent: stream("15 minutes"),
  tailTopic: stream("an hour"),
  streamNotifications: stream("as long as its reader stays"),
  linkVcsInstallation: GITHUB,
  unlinkVcsInstallation: GITHUB,
  createVcsInstallationToken: GITHUB,
  putVcsCredentials: "the provider's addresses and keys have to be those of an application at GitHub",
  getVcsCredentials: "nobody can put any without an application at GitHub",
  deleteVcsCredentials: "nobody can put any without an application at GitHub",
  receiveVcsEvent: "has to be signed over the very bytes that are sent",
  verifyMfaFactor: AUTHENTICATOR,
  challengeMfaFactor: AUTHENTICATOR,
  authUseRecoveryCode: AUTHENTICATOR,
  authCreateRecoveryCodes: AUTHENTICATOR,
  accountVerifyFactor: AUTHENTICATOR,
  accountMfaChallenge: AUTHENTICATOR,
  accountCreateRecoveryCodes: "needs a second factor, which takes a code of an authenticator",
  submitOAuthCode: AUTHENTICATOR,
  accountResetPassword: "the run's server sends no mail",
  authVerify: MAILED,
  authConfirmReset: MAILED,
  authStartProvider: REDIRECT,
  authStartLink: REDIRECT,
  authExchange: PROVIDER,
  authUnlinkIdentity: PROVIDER,
  authLinkAddress: "takes a user without an address, and the run's has one",
  authRotateSigningKey: "is refused until the next key was published for fifteen minutes",
  issueOAuthToken: "takes a code of an authorization, which lasts a minute and works once",
  finishRegistryBlobUpload: "the digest has to be that of the very bytes that are sent",
  sandboxSnapshot: "always 501",
  chatCompletion: MODEL,
  streamChatCompletion: MODEL,
  generateImage: MODEL,
  transcribeAudio: MODEL,
  putRegistryManifest: "its body has to be a manifest, and schemathesis makes up bytes",
  uploadBuild: "its body has to be a gzipped tar, and schemathesis makes up bytes",
  uploadRagDocument:
    "its form needs a file whose bytes are of a known kind, which schemathesis does not make",
}

/** Operations that may refuse fields that fit their schema as not valid, because no schema can say it. */
const beyondSchemas: Readonly<Record<string, string>> = {
  computerGetOrCreateByName: "a name in the body has to be the one in the path",
  createBuild: "a repository has to be a URL that may be requested",
  searchVectors: "a filter has a grammar of its own",
  countVectors: "a filter has a grammar of its own",
  deleteVectors: "a filter has a grammar of its own",
}

/** Statuses of refusals that schemathesis does not take for refusals of an invalid request. */
export const refusedBesides = [412, 413, 416, 431]

const notes = {
  "refusals of valid requests":
    "by a code that the operation declares, for what no schema says; never validation_failed",
  "server errors":
    "as the operation declares them, and 501 and 503 for what an installation lacks; never 500",
  "412, 413, 416, 431":
    "refuse an invalid request too: an unknown version of tus, an address that is too long",
  "X-Svc-Project, Idempotency-Key": "sent to the operations of one area: the same code reads them before all",
  "null characters": "not sent: no text may hold them, which null-characters.test.ts checks",
}

/** Codes by which an operation refuses what fits its schema: a limit is reached, a ciphertext is another tenant's. */
export const refusalsOf = ({ id, faults = [] }: Operation): FaultCode[] => [
  ...faults.filter(code => faultSpec(code).status < 500),
  ...(id in beyondSchemas ? (["validation_failed"] as const) : []),
]

const NOT_CONFIGURED = [501, 503]

/** Server errors that an operation may answer. */
export const failuresOf = ({ faults = [] }: Operation): number[] => [
  ...new Set([
    ...NOT_CONFIGURED,
    ...faults.map(code => faultSpec(code).status).filter(status => status > 500),
  ]),
]

export const describeExclusions = (): string =>
  [
    ...Object.entries(leftOut).map(([id, why]) => `not called: ${id}: ${why}`),
    ...Object.entries(unreached).map(([id, why]) => `reaches no success: ${id}: ${why}`),
    ...Object.entries(beyondSchemas).map(([id, why]) => `may refuse what fits its schema: ${id}: ${why}`),
    ...Object.entries(notes).map(([what, why]) => `${what}: ${why}`),
    "",
  ].join("\n")
