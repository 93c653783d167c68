#!/usr/bin/env -S node --conditions=bulrush-source
export {};
