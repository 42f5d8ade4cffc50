import type { NotificationChannel, NotificationPriority } from "@svc/contract"
import { notificationChannels, notificationPriorities } from "@svc/contract"

export type Switches = { readonly [Channel in NotificationChannel]?: boolean }
type Choice = boolean | Switches

export interface QuietHours {
  /** `22:00`, on the recipient's wall clock. */
  readonly start: string
  /** Before `start`: of the next day. */
  readonly end: string
  /** IANA name. */
  readonly timezone: string
  readonly min_priority: NotificationPriority
}

/** As they are kept. Everything a recipient said nothing about is wanted. */
export interface Preferences {
  readonly channel_types: Switches
  readonly categories: Readonly<Record<string, Choice>>
  readonly types: Readonly<Record<string, Choice>>
  readonly quiet_hours: QuietHours | null
  readonly digest: { readonly email: "off" | "hourly" | "daily" }
}

export const NO_PREFERENCES: Preferences = {
  channel_types: {},
  categories: {},
  types: {},
  quiet_hours: null,
  digest: { email: "off" },
}

const rank = (priority: NotificationPriority): number => notificationPriorities.indexOf(priority)

const saysOf = (
  choices: Readonly<Record<string, Choice>>,
  label: string | null,
  channel: NotificationChannel,
): boolean | undefined => {
  if (label === null || !Object.hasOwn(choices, label)) return undefined
  const choice = choices[label]
  return typeof choice === "boolean" ? choice : choice?.[channel]
}

export interface Subject {
  readonly type: string | null
  readonly category: string | null
  readonly priority: NotificationPriority
}

/** Whether a recipient wants it on this channel: what is said of its type counts first, then of its category. */
export const isWanted = (
  preferences: Preferences,
  { type, category }: Subject,
  channel: NotificationChannel,
): boolean =>
  saysOf(preferences.types, type, channel) ??
  saysOf(preferences.categories, category, channel) ??
  preferences.channel_types[channel] ??
  true

/** Undefined when there is no such time zone. */
const wallClock = (timezone: string): Intl.DateTimeFormat | undefined => {
  try {
    return new Intl.DateTimeFormat("en-GB", {
      timeZone: timezone,
      hour: "2-digit",
      minute: "2-digit",
      hourCycle: "h23",
    })
  } catch {
    return undefined
  }
}

/** Making one costs a hundred times what using it does. */
const clocks = new Map<string, Intl.DateTimeFormat>()
const CLOCKS_MAX = 1_000

const clockOf = (timezone: string): Intl.DateTimeFormat | undefined => {
  const known = clocks.get(timezone) ?? wallClock(timezone)
  if (known && clocks.size < CLOCKS_MAX) clocks.set(timezone, known)
  return known
}

const TIME = /^([01]\d|2[0-3]):[0-5]\d$/

/** What cannot be kept about quiet hours: a sentence, or undefined. */
export const quietHoursProblem = ({ start, end, timezone }: Omit<QuietHours, "min_priority">) => {
  if (![start, end].every(time => TIME.test(time)))
    return "quiet_hours must start and end at times such as 22:00"
  if (!clockOf(timezone)) return `there is no time zone ${timezone}`
  return start === end ? "quiet_hours must start and end at different times" : undefined
}

/**
 * Whether it is quiet at this moment. The times are those of the wall clock, so an hour that a change to summer time
 * leaves out is quiet for nobody, and one that the change back repeats is quiet twice.
 */
export const isQuiet = ({ start, end, timezone }: QuietHours, at: Date): boolean => {
  const time = clockOf(timezone)?.format(at)
  if (time === undefined) return false
  return start < end ? time >= start && time < end : time >= start || time < end
}

export type Decision = "send" | "skipped_preference" | "skipped_quiet_hours"

/** What becomes of a message for one recipient on one channel. The inbox makes no noise, so no hour is too quiet for it. */
export const decide = (
  preferences: Preferences,
  subject: Subject,
  channel: NotificationChannel,
  at: Date,
): Decision => {
  if (!isWanted(preferences, subject, channel)) return "skipped_preference"
  const { quiet_hours } = preferences
  if (channel === "in_app" || quiet_hours === null) return "send"
  const isLoudEnough = rank(subject.priority) >= rank(quiet_hours.min_priority)
  return isLoudEnough || !isQuiet(quiet_hours, at) ? "send" : "skipped_quiet_hours"
}

/** With every channel said. */
export const allSwitches = (given: Switches): Record<NotificationChannel, boolean> =>
  Object.fromEntries(notificationChannels.map(channel => [channel, given[channel] ?? true])) as Record<
    NotificationChannel,
    boolean
  >

/** An address of the web, or a path of the app; anything else could run as a script where it is shown. */
export const isActionUrl = (text: string): boolean => {
  if (text.startsWith("/") && !text.startsWith("//") && !text.startsWith("/\\")) return true
  return URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol)
}
