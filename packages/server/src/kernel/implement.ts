import {
  type Access,
  type Area,
  acceptedMask,
  type Input,
  mutates,
  type Operation,
  type OperationSpec,
  type Result,
  type Scope,
  type ScopeMask,
  takesOrganization,
} from "@svc/contract"
import type { AccountCall, Call } from "./call.ts"

type Awaitable<A> = A | Promise<A>

/** Sign-up and account operations act for a person, not for an organization. */
type CallOf<O extends OperationSpec> = O["scope"] extends "public" ? AccountCall : Call

/** A reply without body may be left unsaid. */
// biome-ignore lint/suspicious/noConfusingVoidType: it is the return type of a function that returns nothing
type Returned<R> = [R] extends [undefined] ? void : R

type HandlerOf<O extends OperationSpec> = (input: Input<O>, call: CallOf<O>) => Awaitable<Returned<Result<O>>>

export type Handlers<Ops extends Record<string, OperationSpec>> = {
  readonly [K in keyof Ops]: HandlerOf<Ops[K]>
}

/** A handler with its types forgotten: what the pipeline runs. */
export type AnyHandler = (input: Readonly<Record<string, unknown>>, call: Call) => unknown

export interface BoundOperation {
  readonly operation: Operation
  readonly handler: AnyHandler
  /** The one success status of the operation; null when its handler chooses between several. */
  readonly status: number | null
  /** The scopes of which one admits; null when the operation asks for none. */
  readonly accepted: ScopeMask | null
  /** Whether a caller who is limited to projects is refused. */
  readonly takesOrganization: boolean
  /** Whether the pipeline wraps the handler in a transaction, with its audit entry and replay record. */
  readonly atomic: boolean
  /** Judges the risk of what is asked; undefined where the declaration says it. */
  readonly judge: JudgeRisk<Readonly<Record<string, unknown>>> | undefined
  /** Resolves when the handler can be called; undefined when it can be already. */
  readonly ready?: () => Promise<void> | undefined
}

const WORDS: ReadonlySet<Access> = new Set<Access>(["any", "session", "publishable", "end-user", "public"])

/** What of a request a judgement of its risk may look at. */
export type RiskQuestion = Pick<Call, "principal" | "organization" | "project" | "header">

/** Whether what is asked is high-risk, and what the person who decides is shown of it. */
export type JudgeRisk<Input = never> = (
  input: Input,
  question: RiskQuestion,
) => Awaitable<{ readonly detail: string } | undefined>

const judges = new WeakMap<object, JudgeRisk<Readonly<Record<string, unknown>>>>()

/** Gives the handler of an operation whose risk is `by-input` its judge. */
export const withRisk = <H extends (input: never, call: never) => unknown>(
  judge: JudgeRisk<Parameters<H>[0]>,
  handler: H,
): H => {
  judges.set(handler, judge as JudgeRisk<Readonly<Record<string, unknown>>>)
  return handler
}

const judgeOf = ({ name, risk }: Operation, handler: unknown) => {
  const judge = judges.get(handler as object)
  if ((risk === "by-input") !== (judge !== undefined))
    throw new Error(
      `${name}: the declaration and the handler differ in whether its risk is judged by its input`,
    )
  return judge
}

const onlyStatus = ({ replies }: Operation): number | null => {
  const [status, ...others] = Object.keys(replies)
  return others.length === 0 ? Number(status) : null
}

/** What the pipeline knows of an operation by its declaration alone. */
const declared = (operation: Operation) => ({
  operation,
  status: onlyStatus(operation),
  accepted: WORDS.has(operation.scope) ? null : acceptedMask(operation.scope as Scope),
  takesOrganization: takesOrganization(operation),
  atomic: operation.audit === "each" && mutates(operation) && operation.transaction !== "none",
})

const bindOperation = (operation: Operation, handler: unknown): BoundOperation => ({
  ...declared(operation),
  handler: handler as AnyHandler,
  judge: judgeOf(operation, handler),
})

/** An operation whose handler is loaded at its first call. `find` gives it once `load` has resolved. */
export const bindLater = (
  operation: Operation,
  load: () => Promise<void>,
  find: () => BoundOperation | undefined,
): BoundOperation => {
  const loaded = (): BoundOperation => {
    const bound = find()
    if (!bound) throw new Error(`${operation.name} has no handler`)
    return bound
  }
  return {
    ...declared(operation),
    handler: (input, call) => loaded().handler(input, call),
    judge: operation.risk === "by-input" ? (input, question) => loaded().judge?.(input, question) : undefined,
    ready: () => (find() ? undefined : load()),
  }
}

/** Binds an area's handlers to its contract. The map is total: a missing or a surplus handler does not compile. */
export const implement =
  <Ops extends Record<string, OperationSpec>, Needs>(
    area: Area<Ops>,
    make: (needs: Needs) => Handlers<Ops>,
  ) =>
  (needs: Needs): BoundOperation[] => {
    const handlers = make(needs)
    return Object.entries(area.operations).map(([key, operation]) => bindOperation(operation, handlers[key]))
  }
