/** What a machine may be called, in config.json and in a reference (`<session>@<machine>`). */

export const MACHINE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
