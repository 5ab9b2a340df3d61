const { defineRules } = require('./rules.cjs');

defineRules(require('holdfast'), require('holdfast-testing'), require('ioredis'));
