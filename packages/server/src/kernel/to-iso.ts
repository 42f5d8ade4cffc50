/** ISO 8601 in UTC with milliseconds, as all times of the API; null where there is no time. */
export const toIso = (at: Date | null | undefined): string | null => at?.toISOString() ?? null
