/** Bitbucket Cloud's webhooks (support.atlassian.com/bitbucket-cloud/docs/event-payloads). */
import type { GitEvent, Hooks } from "../../port.ts"
import {
  commitAt,
  eventOf,
  firstLine,
  type Json,
  listAt,
  numberAt,
  objectAt,
  pullRequestEvent,
  readJson,
  textAt,
} from "../../reading.ts"
import { isHexHmac } from "../../signatures.ts"

/** Branches and tags that one push may change, as Bitbucket tells them. */
const CHANGES_MAX = 100

const repositoryOf = (body: Json): string => textAt(objectAt(body, "repository"), "full_name") ?? ""

/** One change of a push; which files it touches is not told. */
const changeOf = (body: Json, change: Json): GitEvent => {
  const named = objectAt(change, change.new === null ? "old" : "new")
  const name = textAt(named, "name")
  const isTag = named.type === "tag"
  const target = objectAt(change, "new", "target")
  return eventOf({
    type: name === null ? "other" : isTag ? "tag" : "push",
    repository: repositoryOf(body),
    ref: name === null ? null : `${isTag ? "refs/tags" : "refs/heads"}/${name}`,
    commit: commitAt(target, "hash"),
    commitBefore: commitAt(objectAt(change, "old", "target"), "hash"),
    message: firstLine(textAt(target, "message")),
    author: textAt(objectAt(body, "actor"), "nickname") ?? textAt(objectAt(body, "actor"), "display_name"),
  })
}

const pullRequestOf = (body: Json, action: string): GitEvent => {
  const request = objectAt(body, "pullrequest")
  return pullRequestEvent({
    repository: repositoryOf(body),
    number: numberAt(request, "id"),
    action,
    source: textAt(objectAt(request, "source", "branch"), "name"),
    target: textAt(objectAt(request, "destination", "branch"), "name"),
    // Twelve digits, which is all that Bitbucket tells here.
    commit: textAt(objectAt(request, "source", "commit"), "hash"),
    title: textAt(request, "title"),
    author: textAt(objectAt(request, "author"), "nickname"),
  })
}

const eventsFrom = (name: string, body: Json): readonly GitEvent[] => {
  if (name === "repo:push") {
    const changes = listAt(objectAt(body, "push"), "changes").slice(0, CHANGES_MAX)
    return changes.map(change => changeOf(body, objectAt(change)))
  }
  if (name.startsWith("pullrequest:")) return [pullRequestOf(body, name.slice("pullrequest:".length))]
  // Data Center sends this when somebody tests the connection.
  return [eventOf({ type: name === "diagnostics:ping" ? "ping" : "other", repository: repositoryOf(body) })]
}

export const bitbucketHooks: Hooks = {
  signatureHeaders: ["x-hub-signature"],
  isGenuine: ({ header, body }, secret) => isHexHmac(body, secret, header("x-hub-signature"), "sha256="),
  idOf: ({ header }) => header("x-request-uuid") ?? header("x-request-id"),
  read(delivery) {
    const providerEvent = delivery.header("x-event-key") ?? ""
    return { providerEvent, events: eventsFrom(providerEvent, readJson(delivery)) }
  },
}
