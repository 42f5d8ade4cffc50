/** Fonts of office formats, which the reader's machine has, or replaces by one of the same widths. */
export const OFFICE_FONTS = { sans: "Arial", serif: "Times New Roman", mono: "Courier New" } as const
